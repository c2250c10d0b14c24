//! The `haltere.h` of the package is what `cbindgen` makes of `haltere.rs`.

use cbindgen::{Builder, Config, Language, Style};
use std::path::Path;

/// The names of the interface's types, ours and those in C.
const NAMES: [(&str, &str); 23] = [
    ("Config", "haltere_config"),
    ("Established", "haltere_established"),
    ("Sent", "haltere_sent"),
    ("RateSample", "haltere_rate_sample"),
    ("Ack", "haltere_ack"),
    ("Echo", "haltere_echo"),
    ("Arrival", "haltere_arrival"),
    ("Lost", "haltere_lost"),
    ("Congestion", "haltere_congestion"),
    ("Path", "haltere_path"),
    ("Control", "haltere_control"),
    ("Parameter", "haltere_parameter"),
    ("CongestionControl", "haltere_congestion_control"),
    ("Demand", "haltere_demand"),
    ("SchedulerConfig", "haltere_scheduler_config"),
    ("Pick", "haltere_pick"),
    ("Scheduler", "haltere_scheduler"),
    ("Packet", "haltere_packet"),
    ("Band", "haltere_band"),
    ("Queue", "haltere_queue"),
    ("QueueConfig", "haltere_queue_config"),
    ("QueueDiscipline", "haltere_queue_discipline"),
    ("Plugin", "haltere_plugin"),
];

const ABOVE: &str = "\
/* The interface of haltere for code in shared libraries, version 1.
 *
 * A library exports a function for what it holds. haltere_plugin_of is that of a congestion control, whose file is a
 * contender: tcp/./libmine.so. haltere_scheduler_of is that of a path scheduler: mptcp/cubic+scheduler=./libmine.so.
 * haltere_queue_discipline_of is that of a queue discipline: --queue ./libmine.so.
 * Times are nanoseconds since the start of the run, sizes are bytes and rates are bits a second.
 *
 * Generated from haltere.rs. Licence: Apache-2.0 or MIT, as you like. */";

const BELOW: &str = "\
#ifdef __cplusplus
extern \"C\" {
#endif

/* What libraries export. `abi` is the version that the host has: return NULL if yours is another. */
#if defined(_WIN32)
#define HALTERE_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define HALTERE_EXPORT __attribute__((visibility(\"default\")))
#else
#define HALTERE_EXPORT
#endif
HALTERE_EXPORT const haltere_plugin *haltere_plugin_of(uint32_t abi);
HALTERE_EXPORT const haltere_scheduler *haltere_scheduler_of(uint32_t abi);
HALTERE_EXPORT const haltere_queue_discipline *haltere_queue_discipline_of(uint32_t abi);

#ifdef __cplusplus
}
#endif";

#[test]
fn the_header_is_that_of_the_interface() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = Config {
        language: Language::C,
        style: Style::Type,
        header: Some(ABOVE.into()),
        trailer: Some(BELOW.into()),
        include_guard: Some("HALTERE_H".into()),
        documentation: true,
        line_length: 120,
        ..Config::default()
    };
    config.export.rename = NAMES.into_iter().map(|(ours, theirs)| (ours.into(), theirs.into())).collect();
    config.export.include = ["Plugin", "Scheduler", "QueueDiscipline"].map(Into::into).into();
    let made = Builder::new()
        .with_config(config)
        .with_src(root.join("../../python/haltere/plugins/include/haltere.rs"))
        .generate()
        .unwrap();
    let mut text = Vec::new();
    made.write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let file = root.join("../../python/haltere/plugins/include/haltere.h");
    if std::env::var_os("HALTERE_WRITE_HEADER").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == text,
        "haltere.h is not that of haltere.rs: run HALTERE_WRITE_HEADER=1 cargo test -p haltere-plugins"
    );
}
