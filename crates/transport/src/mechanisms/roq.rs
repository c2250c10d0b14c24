//! The mechanisms of RTP over QUIC.

use super::{Kind, Mechanism, Value};
use crate::cc::Algorithm;
use crate::roq::{Config, Inner, Mapping};

/// The congestion controls of QUIC below that of media: all that are made for one path, and none.
const INNER: &[&str] = &[
    "newreno",
    "cubic",
    "bbr",
    "tahoe",
    "reno",
    "bic",
    "highspeed",
    "scalable",
    "htcp",
    "hybla",
    "illinois",
    "westwood",
    "veno",
    "yeah",
    "vegas",
    "ledbat",
    "ledbatpp",
    "nv",
    "cdg",
    "lp",
    "copa",
    "bbr2",
    "bbr3",
    "dctcp",
    "prague",
    NONE,
];
const NONE: &str = "none";
const FRAME: &str = "frame";
const GROUP: &str = "group";

/// Why other transports have neither.
const OVER_QUIC: &str = "it carries media over QUIC, as in roq/gcc";

/// Every mechanism of RTP over QUIC.
pub const ROQ: &[Mechanism<Config>] = &[
    Mechanism::new(
        "quic",
        Kind::OneOf(INNER),
        "congestion control of QUIC, below that of media; none: nothing but that of media holds packets back",
        "draft-ietf-avtcore-rtp-over-quic-14 section 8; RFC 9002",
        (
            |c: &Config| match c.inner {
                Inner::Algorithm(algorithm) => Value::Word(algorithm.name()),
                Inner::None => Value::Word(NONE),
            },
            |c: &mut Config, v| match v {
                Value::Word(NONE) => c.inner = Inner::None,
                Value::Word(name) => c.inner = Algorithm::named(name).map_or(c.inner, Inner::Algorithm),
                _ => {}
            },
        ),
    )
    .only(OVER_QUIC),
    Mechanism::new(
        "streams",
        Kind::OneOf(&[FRAME, GROUP]),
        "media on streams that QUIC repairs: one for each frame, or one for each group of frames from a key frame on; off: in DATAGRAM \
         frames, repaired by RTP",
        "draft-ietf-avtcore-rtp-over-quic-14 sections 5.2 and 5.3; RFC 9221",
        (
            |c: &Config| match c.mapping {
                Mapping::Datagrams => Value::Off,
                Mapping::StreamPerFrame => Value::Word(FRAME),
                Mapping::StreamPerGroup => Value::Word(GROUP),
            },
            |c: &mut Config, v| {
                c.mapping = match v {
                    Value::Word(FRAME) => Mapping::StreamPerFrame,
                    Value::Word(GROUP) => Mapping::StreamPerGroup,
                    _ => Mapping::Datagrams,
                }
            },
        ),
    )
    .on(Value::Word(FRAME))
    .off()
    .only(OVER_QUIC),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_congestion_control_of_one_path_can_be_the_inner_one() {
        let own: Vec<&str> = Algorithm::ALL.iter().filter(|a| !a.coupled).map(|a| a.name()).chain([NONE]).collect();
        assert_eq!(own, INNER);
    }
}
