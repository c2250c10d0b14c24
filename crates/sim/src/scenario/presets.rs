//! Presets: typical wireless links and cells. This table is the only place with their numbers, each with its source.

use super::cell::CellSpec;
use super::link::LinkSpec;
use super::{ScenarioError, error};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A preset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
pub enum Preset {
    /// A cell of 802.11n.
    #[serde(rename = "wifi")]
    Wifi,
    /// A cell of 802.11n as ns-3 has it.
    #[serde(rename = "ns3")]
    Ns3,
    /// LTE.
    #[serde(rename = "4g", alias = "lte")]
    FourG,
    /// 5G New Radio below 6 GHz.
    #[serde(rename = "5g")]
    FiveG,
    /// A geostationary satellite.
    #[serde(rename = "geo")]
    Geo,
    /// Satellites in a low orbit.
    #[serde(rename = "leo", alias = "starlink")]
    Leo,
    /// The cellular link between a LoRaWAN gateway and its network server.
    #[serde(rename = "lorawan-backhaul")]
    LorawanBackhaul,
    /// A telephone line.
    #[serde(rename = "dsl")]
    Dsl,
    /// Two hosts of a data centre.
    #[serde(rename = "datacentre")]
    Datacentre,
}

/// A number of a preset: the field of the link or cell, its value as in a scenario file, and where it is from.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Setting {
    /// The field, such as `down.rate`.
    pub field: &'static str,
    /// Its value, as JSON without the quotes of strings.
    pub value: &'static str,
    /// Where it is from. What is assumed says so.
    pub source: &'static str,
}

const fn set(field: &'static str, value: &'static str, source: &'static str) -> Setting {
    Setting { field, value, source }
}

const OPENSIGNAL: &str = "Opensignal, State of Mobile: USA, May 2019: mean of the first quarter";
const OOKLA_5G: &str =
    "Ookla, Growing and Slowing: The State of 5G Worldwide in 2021: global median of the third quarter";
const OOKLA_SATELLITE: &str = "Ookla, How Starlink's Satellite Internet Stacks Up Against HughesNet and Viasat, second quarter of 2021: median in the USA";
const HUSTON: &str = "G. Huston, A transport protocol's view of Starlink, APNIC, May 2024";
const BUFFERS: &str = "deep buffers with delays of up to seconds: H. Jiang et al., Tackling Bufferbloat in 3G/4G Networks, IMC 2012; \
                       the size is assumed";
const DEFAULT_RLC: &str = "t-Reordering 35 ms (3GPP TS 36.331 section 9.2.1.1) and a HARQ round trip";

/// LTE, down: blocks of 1 ms with HARQ.
const LTE: [Setting; 5] = [
    set("cellular.tti", "1ms", "subframe: 3GPP TS 36.211 section 4"),
    set("cellular.block_error", "10%", "the target of link adaptation: 3GPP TS 36.213 section 7.2.3"),
    set("cellular.harq", "8ms", "HARQ RTT timer of FDD: 3GPP TS 36.321 section 7.7"),
    set("cellular.harq_limit", "4", "default maxHARQ-Tx of 5 transmissions: 3GPP TS 36.331 section 9.2.2"),
    set("cellular.rlc", "43ms", DEFAULT_RLC),
];

/// LTE, up: the same, and an idle terminal asks for a grant.
const fn lte_up(request_period: Setting) -> [Setting; 7] {
    [
        set("up.cellular.tti", "1ms", "as down"),
        set("up.cellular.block_error", "10%", "as down"),
        set("up.cellular.harq", "8ms", "as down: uplink HARQ is synchronous, 3GPP TS 36.213 section 8"),
        set("up.cellular.harq_limit", "4", "as down"),
        set("up.cellular.rlc", "43ms", "as down"),
        set(
            "up.cellular.grant",
            "8ms",
            "request to transmission: 3GPP TR 36.912 annex B (3 + 1 + 3 ms, and the subframe)",
        ),
        request_period,
    ]
}

const FOUR_G_UP: [Setting; 7] =
    lte_up(set("up.cellular.request_period", "10ms", "one of the periods of 3GPP TS 36.213 table 10.1.5-1; assumed"));
const LORAWAN_UP: [Setting; 7] = lte_up(set(
    "up.cellular.request_period",
    "80ms",
    "where many devices share a cell: J. Brown, J. Y. Khan, Predictive Resource Allocation in the LTE Uplink, 2012",
));

const WIFI: [Setting; 7] = [
    set("standard", "802.11n", "IEEE Std 802.11-2016 clause 19, with its timings"),
    set("width", "20MHz", "the width that every station of 802.11n has: clause 19.1.1"),
    set("streams", "1", "a station with one antenna; assumed"),
    set("distance", "5m", "assumed"),
    set("access", "edca", "mandatory for stations of 802.11n: clause 10.2.4.2"),
    set("retries", "6", "dot11ShortRetryLimit of 7 attempts: annex C, clause 10.3.4.4"),
    set("aggregate", "64", "window of the compressed block acknowledgement: clause 9.3.1.9.3"),
];
const NS3: [Setting; 11] = [
    set("standard", "802.11n", "WIFI_STANDARD_80211n"),
    set("width", "20MHz", "the default of WifiPhy in the band of 5 GHz"),
    set("streams", "1", "WifiPhy::MaxSupportedTxSpatialStreams"),
    set("distance", "1m", "as cells without a preset"),
    set("access", "edca", "QosSupported, which 802.11n needs"),
    set("retries", "6", "WifiMac::FrameRetryLimit of 7 attempts"),
    set("aggregate", "64", "MpduBufferSize; WifiMac::BE_MaxAmpduSize is 65535 bytes"),
    set("eifs", "false", "WifiPhy: frames that collide at equal power are not detected, so that nobody waits for EIFS"),
    set("block_ack_request", "true", "QosTxop::UseExplicitBarAfterMissedBlockAck"),
    set("lifetime", "500ms", "WifiMacQueue::MaxDelay"),
    set("queue", "500p", "WifiMacQueue::MaxSize"),
];
const FOUR_G: [Setting; 4] = [
    set("down.rate", "21.3Mbit/s", OPENSIGNAL),
    set("up.rate", "6.3Mbit/s", OPENSIGNAL),
    set("delay", "20ms", "with scheduling an RTT of 54 ms, amid 44.1 to 66.4 ms: the same report"),
    set("queue", "1MB", BUFFERS),
];
const FIVE_G: [Setting; 16] = [
    set("down.rate", "166.13Mbit/s", OOKLA_5G),
    set("up.rate", "21.08Mbit/s", OOKLA_5G),
    set(
        "delay",
        "6ms",
        "one way takes 7 ms down, 18 ms up at worst: M. Kottkamp, 5G NR and LTE latency analysis in a public network, 2022",
    ),
    set("queue", "2MB", BUFFERS),
    set("cellular.tti", "500us", "a slot at 30 kHz: 3GPP TS 38.211 section 4.3.2"),
    set("cellular.block_error", "10%", "the target of link adaptation: 3GPP TS 38.214 section 5.2.2.1"),
    set("cellular.harq", "5ms", "a period of the TDD pattern (3GPP TS 38.331, dl-UL-TransmissionPeriodicity); assumed"),
    set("cellular.harq_limit", "4", "as 4g; assumed"),
    set("cellular.rlc", "40ms", "default t-Reassembly 35 ms (3GPP TS 38.331 section 9.2.1) and a HARQ round trip"),
    set("up.cellular.tti", "500us", "as down"),
    set("up.cellular.block_error", "10%", "as down"),
    set("up.cellular.harq", "5ms", "as down"),
    set("up.cellular.harq_limit", "4", "as down"),
    set("up.cellular.rlc", "40ms", "as down"),
    set("up.cellular.grant", "5ms", "a period of the TDD pattern; assumed"),
    set("up.cellular.request_period", "5ms", "a period of the TDD pattern; assumed"),
];
const GEO: [Setting; 6] = [
    set("down.rate", "18.13Mbit/s", OOKLA_SATELLITE),
    set("up.rate", "3.38Mbit/s", OOKLA_SATELLITE),
    set("satellite.orbit", "geo", "35 786 km above the equator: RFC 2488 section 2"),
    set("satellite.elevation", "35", "a satellite in its meridian, seen from a latitude of 48 degrees; assumed"),
    set("delay", "60ms", "the rest of a median latency of 630 ms: the same article on the rates (Viasat)"),
    set("queue", "1bdp", "assumed"),
];
const LEO: [Setting; 10] = [
    set("down.rate", "97.23Mbit/s", OOKLA_SATELLITE),
    set("up.rate", "13.89Mbit/s", OOKLA_SATELLITE),
    set("satellite.orbit", "leo", HUSTON),
    set("satellite.altitude", "550km", HUSTON),
    set("satellite.least_elevation", "25", HUSTON),
    set("satellite.interval", "15s", HUSTON),
    set("satellite.handover", "40ms", "spikes of 30 to 50 ms at handovers: G. Huston, as above"),
    set("delay", "18ms", "the rest of a median latency of 45 ms: the same article on the rates (Starlink)"),
    set("loss", "1%", "1 to 2 % unrelated to congestion: G. Huston, as above"),
    set("queue", "1bdp", "assumed"),
];
const LORAWAN: [Setting; 4] = [
    set("rate", "1Mbit/s", "peak of LTE category M1: 3GPP TS 36.306 section 4.1"),
    set("delay", "20ms", "as 4g"),
    set("queue", "100p", "assumed"),
    set("mtu", "1500B", "the MTU of cellular modems towards gateways; assumed"),
];
const DSL: [Setting; 4] = [
    set("down.rate", "50Mbit/s", "a common product of lines with VDSL2 (ITU-T G.993.2); assumed"),
    set("up.rate", "10Mbit/s", "the same product; assumed"),
    set("delay", "22ms", "half of a mean RTT of 44 ms over DSL: FCC, Measuring Broadband America, February 2013"),
    set(
        "queue",
        "256kB",
        "a frequent size of upload buffers: C. Kreibich et al., Netalyzr, IMC 2010; the same down is assumed",
    ),
];
const DCTCP_BUFFER: &str =
    "what one port of a switch with 4 MB of shared memory gets: M. Alizadeh et al., Data Center TCP, SIGCOMM 2010";
const DATACENTRE: [Setting; 3] = [
    set(
        "rate",
        "10Gbit/s",
        "the faster of the two rates of that paper's evaluation: M. Alizadeh et al., as for the queue",
    ),
    set(
        "delay",
        "50us",
        "half of an RTT of 100 us inside a rack without queueing; assumed, in the range of that paper",
    ),
    set("queue", "700kB", DCTCP_BUFFER),
];

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 9] = [
        Preset::Wifi,
        Preset::Ns3,
        Preset::FourG,
        Preset::FiveG,
        Preset::Geo,
        Preset::Leo,
        Preset::LorawanBackhaul,
        Preset::Dsl,
        Preset::Datacentre,
    ];

    /// Other names under which it is known.
    pub const fn also(self) -> &'static [&'static str] {
        match self {
            Preset::FourG => &["lte"],
            Preset::Leo => &["starlink"],
            _ => &[],
        }
    }

    /// Its name, and what it is.
    pub const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Preset::Wifi => ("wifi", "a cell of 802.11n with one antenna a station, at 20 MHz"),
            Preset::Ns3 => ("ns3", "a cell of 802.11n as ns-3.44 has it, with its defaults"),
            Preset::FourG => ("4g", "LTE as measured in the USA in 2019"),
            Preset::FiveG => ("5g", "5G New Radio below 6 GHz as measured in 2021 and 2022"),
            Preset::Geo => ("geo", "a geostationary satellite as measured in 2021"),
            Preset::Leo => ("leo", "satellites at 550 km with a handover every 15 s, as measured in 2021 and 2024"),
            Preset::LorawanBackhaul => (
                "lorawan-backhaul",
                "LTE-M from a LoRaWAN gateway to its network server (A. Pötsch, F. Haslhofer, 2017)",
            ),
            Preset::Dsl => ("dsl", "a telephone line with VDSL2, at 50 and 10 Mbit/s"),
            Preset::Datacentre => ("datacentre", "two hosts of a rack in a data centre, as described in 2010"),
        }
    }

    /// Whether it is a cell, and not a link.
    pub const fn is_cell(self) -> bool {
        matches!(self, Preset::Wifi | Preset::Ns3)
    }

    /// Its numbers.
    pub fn settings(self) -> Vec<Setting> {
        let parts: &[&[Setting]] = match self {
            Preset::Wifi => &[&WIFI],
            Preset::Ns3 => &[&NS3],
            Preset::FourG => &[&FOUR_G, &LTE, &FOUR_G_UP],
            Preset::FiveG => &[&FIVE_G],
            Preset::Geo => &[&GEO],
            Preset::Leo => &[&LEO],
            Preset::LorawanBackhaul => &[&LORAWAN, &LTE, &LORAWAN_UP],
            Preset::Dsl => &[&DSL],
            Preset::Datacentre => &[&DATACENTRE],
        };
        parts.concat()
    }

    /// Its numbers as a table of a scenario.
    pub fn table(self) -> Value {
        let mut table = Map::new();
        for setting in self.settings() {
            let value = serde_json::from_str(setting.value)
                .ok()
                .filter(|value: &Value| value.is_number() || value.is_boolean());
            let value = value.unwrap_or_else(|| Value::from(setting.value));
            put(&mut table, setting.field, value);
        }
        Value::Object(table)
    }

    /// The link that it stands for; `path` is that of the link it is given for.
    pub(super) fn link(self, path: &str) -> Result<LinkSpec, ScenarioError> {
        if self.is_cell() {
            let name = self.describe().0;
            let message =
                format!("{name:?} is a cell, not a link: give the topology the kind \"cell\" and cell.preset");
            return Err(error(format!("{path}.preset"), message));
        }
        self.read(path)
    }

    /// The cell that it stands for; `path` is that of the cell it is given for.
    pub(super) fn cell(self, path: &str) -> Result<CellSpec, ScenarioError> {
        if !self.is_cell() {
            let name = self.describe().0;
            let message = format!("{name:?} is a link: give it as the preset of a link, and cells \"wifi\" or \"ns3\"");
            return Err(error(format!("{path}.preset"), message));
        }
        self.read(path)
    }

    fn read<T: DeserializeOwned>(self, path: &str) -> Result<T, ScenarioError> {
        serde_json::from_value(self.table()).map_err(|wrong| error(format!("{path}.preset"), wrong.to_string()))
    }
}

/// Puts a value into nested tables by its path.
fn put(table: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            table.insert(path.to_string(), value);
        }
        Some((first, rest)) => {
            if let Value::Object(inner) = table.entry(first).or_insert_with(|| Value::Object(Map::new())) {
                put(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Link;

    #[test]
    fn every_preset_is_a_valid_link_or_cell_and_each_number_has_a_source() {
        for preset in Preset::ALL {
            let name = preset.describe().0;
            assert_eq!(serde_json::to_value(preset).unwrap(), name);
            for also in preset.also() {
                assert_eq!(serde_json::from_value::<Preset>((*also).into()).unwrap(), preset);
            }
            let table = preset.table();
            if preset.is_cell() {
                let cell: CellSpec = serde_json::from_value(table).unwrap();
                assert!(cell.cell("cell").is_ok(), "{name}");
            } else {
                let text = table.to_string();
                Link::from_json(&text).unwrap_or_else(|e| panic!("{name}: {e} in {text}"));
            }
            let settings = preset.settings();
            assert!(settings.iter().all(|setting| setting.source.len() > 5 || setting.source == "as 4g"), "{name}");
            let mut fields: Vec<&str> = settings.iter().map(|setting| setting.field).collect();
            fields.sort_unstable();
            assert!(fields.windows(2).all(|pair| pair[0] != pair[1]), "{name}: {fields:?}");
        }
    }
}
