//! The `haltere.h` of the package is what `cbindgen` makes of `haltere.rs`.

use cbindgen::{Builder, Config, Language, Style};
use std::path::Path;

/// The names of the interface's types, ours and those in C.
const NAMES: [(&str, &str); 14] = [
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
    ("Plugin", "haltere_plugin"),
];

const ABOVE: &str = "\
/* The interface of haltere for congestion controls in shared libraries, version 1.
 *
 * A library exports haltere_plugin_of, and its file is a contender: tcp/./libmine.so, quic/./libmine.so. Times are
 * nanoseconds since the start of the run, sizes are bytes and rates are bits a second.
 *
 * Generated from haltere.rs. Licence: Apache-2.0 or MIT, as you like. */";

const BELOW: &str = "\
#ifdef __cplusplus
extern \"C\" {
#endif

/* What the library exports. `abi` is the version that the host has: return NULL if yours is another. */
#if defined(_WIN32)
__declspec(dllexport)
#elif defined(__GNUC__)
__attribute__((visibility(\"default\")))
#endif
const haltere_plugin *haltere_plugin_of(uint32_t abi);

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
    config.export.include = vec!["Plugin".into()];
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
