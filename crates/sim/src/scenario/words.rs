//! Links in words: the values that hold once presets and defaults are filled in.

use super::{CellMedium, Topology};
use haltere_net::link::LinkConfig;
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::lte::LteConfig;
use haltere_net::middlebox::{Breaker, Propagation};
use haltere_net::queue::QueueConfig;
use haltere_net::registry::shown;
use haltere_net::wifi::{Channel, Metres};
use haltere_net::{Rate, Span};
use serde::Serialize;

/// A link, or a cell with its stations, in words for readers. Quantities have the units in which scenarios give them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LinkInWords {
    /// Its name in results; `access` are all access links of a dumbbell.
    pub name: String,
    /// Where the scenario gives it, such as `topology.link`.
    pub path: String,
    /// The direction from server to client; of a cell, from the access point.
    pub down: String,
    /// The other direction.
    pub up: String,
}

impl Topology {
    /// All links and cells in words, with the values that hold: those of presets and defaults too.
    pub fn in_words(&self) -> Vec<LinkInWords> {
        let links = self.links().into_iter().map(|(name, path, link)| LinkInWords {
            name,
            path,
            down: direction(&link.down),
            up: direction(&link.up),
        });
        let cells = self.all_cells().into_iter().filter_map(|(path, cell)| {
            let medium = match &cell.medium {
                CellMedium::Wifi(config) => medium(config.channel, &config.stations),
                CellMedium::Lte(config) => carrier(config),
            };
            let station = cell.stations.first()?;
            let way = |config: &LinkConfig| [vec![medium.clone()], held(config)].concat().join(", ");
            Some(LinkInWords { name: cell.name.clone(), path, down: way(&station.down), up: way(&station.up) })
        });
        links.chain(cells).collect()
    }
}

/// The medium of a cell.
fn medium(channel: Channel, stations: &[Metres]) -> String {
    let Channel { standard, width, streams, .. } = channel;
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let count = stations.len();
    let (nearest, furthest) =
        stations.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), Metres(m)| (least.min(*m), most.max(*m)));
    let distance = if nearest < furthest { format!("{nearest}m to {furthest}m") } else { format!("{furthest}m") };
    format!(
        "{}, {}MHz, {streams} spatial stream{}, {count} station{} at {distance}",
        standard.name(),
        width.0,
        plural(streams as usize),
        plural(count)
    )
}

/// The carrier of a cell of LTE.
fn carrier(config: &LteConfig) -> String {
    let count = config.users.len();
    format!(
        "LTE, {}MHz, {} receive antenna{}, hexagon of {:.0}m a side, neighbours active {}, {count} user{} at {:.0}km/h",
        config.width.0,
        config.antennas,
        if config.antennas == 1 { "" } else { "s" },
        config.radius.0,
        percent(config.activity),
        if count == 1 { "" } else { "s" },
        config.speed.0 * 3.6
    )
}

/// One direction of a link.
fn direction(config: &LinkConfig) -> String {
    let rate = match (&config.trace, &config.rate_profile, config.rate) {
        (Some(trace), ..) => format!("recorded rate with a mean of {}", trace.mean()),
        (_, Some(profile), _) => format!("changing rate of at most {}", Rate::from_bps(profile.greatest())),
        (_, _, Some(rate)) => rate.to_string(),
        (None, None, None) => "unlimited rate".to_string(),
    };
    let delay = match &config.delay_profile {
        Some(profile) => format!("changing delay of at most {}", Span::from_nanos(profile.greatest())),
        None => format!("delay {}", config.delay),
    };
    let orbit = config
        .orbit
        .map(|orbit| format!("besides satellites at {} km, another one every {}", orbit.altitude_km, orbit.interval));
    [vec![rate, delay], orbit.into_iter().collect(), held(config)].concat().join(", ")
}

/// All of a direction but its rate and its delay.
fn held(config: &LinkConfig) -> Vec<String> {
    let mut words = vec![queue(&config.queue)];
    words.extend(config.ring.map(|ring| {
        format!("ring of {}p {} byte queue limits", ring.packets, if ring.bql { "with" } else { "without" })
    }));
    words.extend(loss(&config.loss));
    words.extend(jitter(config.jitter));
    words.extend((config.duplication > 0.0).then(|| format!("duplication {}", percent(config.duplication))));
    words.extend(config.outages.is_some().then(|| "outages".to_string()));
    words.extend(config.cellular.map(|cell| {
        let resent = format!("blocks resent {} of the time, {} later", percent(cell.block_error), cell.harq);
        let grants = format!("grants {} after a request, one every {}", cell.grant, cell.request_period);
        let parts = [(!cell.tti.is_zero(), format!("intervals of {}", cell.tti)), (cell.block_error > 0.0, resent)];
        let asks = !cell.grant.is_zero() || !cell.request_period.is_zero();
        let parts = parts.into_iter().chain([(asks, grants)]).filter(|(given, _)| *given);
        format!("cellular: {}", parts.map(|(_, text)| text).collect::<Vec<_>>().join(", "))
    }));
    words.extend((config.mtu != 1500).then(|| format!("MTU {}B", config.mtu)));
    words.extend(config.tunnel.map(|tunnel| {
        let ecn = match tunnel.ecn {
            Propagation::Normal => "that propagates ECN",
            Propagation::Compatibility => "that is not ECN-capable",
            Propagation::Rfc3168 => "that propagates ECN as RFC 3168",
            Propagation::None => "that loses marks",
        };
        format!("a tunnel of {}B {ecn}", tunnel.header)
    }));
    words.extend(config.breaker.map(|breaker| {
        let Breaker { loss, interval, intervals, .. } = breaker;
        format!("a circuit breaker at {} for {intervals} times {interval}", percent(loss))
    }));
    words
}

/// A queue with all its parameters.
fn queue(queue: &QueueConfig) -> String {
    let name = shown(queue.discipline().name());
    let parameters: Vec<_> = queue.texts().into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    match parameters.as_slice() {
        [] => format!("queue {name}"),
        given => format!("queue {name} ({})", given.join(", ")),
    }
}

fn loss(model: &LossModel) -> Option<String> {
    match model {
        LossModel::None => None,
        LossModel::Uniform { p } => (*p > 0.0).then(|| format!("loss {}", percent(*p))),
        LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_in_bad, loss_in_good } => Some(format!(
            "bursts of loss (Gilbert-Elliott: to bad {}, back {}, loss {} in bad, {} in good)",
            percent(*good_to_bad),
            percent(*bad_to_good),
            percent(*loss_in_bad),
            percent(*loss_in_good)
        )),
        LossModel::Periodic { every } => Some(format!("loss of every packet number {every}")),
        LossModel::List { packets } => Some(format!("loss of {} listed packets", packets.len())),
    }
}

fn jitter(model: JitterModel) -> Option<String> {
    match model {
        JitterModel::None => None,
        JitterModel::Uniform { spread, .. } => Some(format!("jitter uniform up to {spread}")),
        JitterModel::Normal { sigma, .. } => Some(format!("jitter normal with a deviation of {sigma}")),
    }
}

/// A share in per cent, without the digits that binary fractions add.
fn percent(share: f64) -> String {
    format!("{}%", (share * 1e8).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;

    fn words(topology: &str) -> Vec<(String, String, String)> {
        let json = format!(r#"{{"topology": {topology}, "flows": [{{"contender": "tcp/cubic", "size": "1MB"}}]}}"#);
        let words = Scenario::from_json(&json).unwrap().topology.in_words();
        words.into_iter().map(|link| (link.path, link.down, link.up)).collect()
    }

    #[test]
    fn a_link_in_words_has_the_values_of_its_preset() {
        let link = r#"{"kind": "point-to-point", "link": {"preset": "dsl", "up": {"loss": "0.7%"}}}"#;
        let [(path, down, up)] = words(link).try_into().unwrap();
        assert_eq!(path, "topology.link");
        assert!(down.starts_with("50Mbit/s, delay "), "{down}");
        assert!(up.starts_with("10Mbit/s, delay ") && up.ends_with(", loss 0.7%"), "{up}");
        assert!(down.contains(", queue drop-tail (limit "), "{down}");
    }

    #[test]
    fn a_link_in_words_has_the_values_of_defaults() {
        let given = words(r#"{"kind": "dumbbell", "bottleneck": {"rate": "10Mbit/s", "delay": "12500us"}}"#);
        let text = "10Mbit/s, delay 12500us, queue drop-tail (limit 1000p)";
        assert_eq!(given[0], ("topology.bottleneck".into(), text.into(), text.into()));
        assert!(given[1].1.starts_with("1Gbit/s, delay 0s, "), "{given:?}");
    }

    #[test]
    fn a_cell_in_words_names_its_standard_and_its_stations() {
        let given = words(r#"{"kind": "cell", "cell": {"preset": "wifi", "stations": 2, "distance": "5m"}}"#);
        let (path, down, _) = given.last().unwrap();
        assert_eq!(path, "topology.cell");
        assert!(down.contains("802.11") && down.contains("2 stations at 5m") && down.contains("queue "), "{down}");
    }
}
