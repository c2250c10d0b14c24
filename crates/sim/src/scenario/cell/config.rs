//! Cells of scenarios with all defaults filled in. Checks cells of IEEE 802.11, and converts them to the configuration of a cell in the
//! network crate.

use super::{Access, CellDirection, CellSpec, RadioSpec, Retries, StandardName, Stations, Unlimited};
use crate::scenario::{ScenarioError, error};
use haltere_net::link::LinkConfig;
use haltere_net::lte::LteConfig;
use haltere_net::medium::Medium;
use haltere_net::wifi::{self, CellConfig, Channel, Metres, Phy, Radio, Rule, Standard};
use haltere_transport::Body;
use std::collections::BTreeSet;

/// The most stations of a cell: association identifiers go from 1 to 2007 (IEEE Std 802.11-2016, clause 9.4.1.8).
const MAX_STATIONS: usize = 2007;

/// A cell with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its name in results.
    pub name: String,
    /// The node of its access point.
    pub access_point: String,
    /// The medium.
    pub medium: CellMedium,
    /// The stations.
    pub stations: Vec<Station>,
}

/// The medium of a cell.
#[derive(Clone, Debug)]
pub enum CellMedium {
    /// A cell of IEEE 802.11.
    Wifi(CellConfig),
    /// A cell of LTE.
    Lte(LteConfig),
}

/// A station of a cell, or a user.
#[derive(Clone, Debug)]
pub struct Station {
    /// Its node.
    pub node: String,
    /// From the access point, with the rate of its distance.
    pub down: LinkConfig,
    /// To the access point.
    pub up: LinkConfig,
}

impl Cell {
    /// The medium, for the element of its links.
    pub(crate) fn element(&self) -> Box<dyn Medium<Body>> {
        match &self.medium {
            CellMedium::Wifi(config) => Box::new(config.clone()),
            CellMedium::Lte(config) => Box::new(config.clone()),
        }
    }

    /// Its nodes: stations and access point.
    pub(in crate::scenario) fn nodes(&self) -> impl Iterator<Item = &str> {
        self.stations.iter().map(|station| station.node.as_str()).chain([self.access_point.as_str()])
    }
}

impl CellSpec {
    /// How many stations it has.
    fn count(&self) -> usize {
        match &self.stations {
            None => 1,
            Some(Stations::Count(n)) => *n as usize,
            Some(Stations::List(list)) => list.len(),
        }
    }

    /// The node of a station.
    fn station(&self, number: usize) -> String {
        let named = match &self.stations {
            Some(Stations::List(list)) => list.get(number).and_then(|station| station.name.clone()),
            _ => None,
        };
        named.unwrap_or_else(|| format!("station {number}"))
    }

    /// Gives the fields that are not given the values of the preset.
    fn fill(&mut self, path: &str) -> Result<(), ScenarioError> {
        let Some(preset) = self.preset else { return Ok(()) };
        let usual = preset.cell(path)?;
        // Another standard has another width, other streams and another rule.
        if self.standard.is_none() {
            self.standard = usual.standard;
            self.width = self.width.or(usual.width);
            self.streams = self.streams.or(usual.streams);
            self.access = self.access.or(usual.access);
            self.aggregate = self.aggregate.or(usual.aggregate);
        }
        if self.channel().standard.aggregates() && self.aggregate != Some(1) {
            self.block_ack_request = self.block_ack_request.or(usual.block_ack_request);
        }
        self.distance = self.distance.or(usual.distance);
        self.retries = self.retries.or(usual.retries);
        self.eifs = self.eifs.or(usual.eifs);
        self.lifetime = self.lifetime.or(usual.lifetime);
        self.queue = self.queue.take().or(usual.queue);
        Ok(())
    }

    /// The cell that is meant.
    ///
    /// # Errors
    /// If a field is wrong. The error's path begins with `path`.
    pub(in crate::scenario) fn cell(mut self, path: &str) -> Result<Cell, ScenarioError> {
        self.fill(path)?;
        if let Some(mtu) = self.mtu.filter(|m| !(1280..=2304).contains(&m.0.0)) {
            let message = format!("{}B: give an MTU from 1280B to 2304B, the longest MSDU of 802.11", mtu.0.0);
            return Err(error(format!("{path}.mtu"), message));
        }
        let access_point = self.access_point.clone().unwrap_or_else(|| "access point".into());
        let mut names = BTreeSet::from([access_point.clone()]);
        for number in 0..self.count().min(MAX_STATIONS) {
            let name = self.station(number);
            if names.contains(&name) {
                let message = format!("{name:?} is in the cell already: give this station another name");
                return Err(error(format!("{path}.stations[{number}].name"), message));
            }
            names.insert(name);
        }
        let config = self.config(path)?;
        let stations = self.stations(&config, path)?;
        let name = self.name.unwrap_or_else(|| "cell".into());
        Ok(Cell { name, access_point, medium: CellMedium::Wifi(config), stations })
    }

    fn distances(&self) -> Vec<Metres> {
        let usual = self.distance.map_or(Metres(1.0), |q| q.0);
        match &self.stations {
            Some(Stations::List(list)) => list.iter().map(|s| s.distance.map_or(usual, |q| q.0)).collect(),
            _ => vec![usual; self.count()],
        }
    }

    fn channel(&self) -> Channel {
        let standard = match self.standard.unwrap_or(StandardName::N) {
            StandardName::Fhss => Standard::Fhss,
            StandardName::B => Standard::B,
            StandardName::A => Standard::A,
            StandardName::G => Standard::G,
            StandardName::N => Standard::N,
            StandardName::Ac => Standard::Ac,
        };
        let usual = Channel::of(standard);
        Channel {
            width: self.width.map_or(usual.width, |q| q.0),
            streams: self.streams.unwrap_or(usual.streams),
            short_guard: self.short_guard.unwrap_or(usual.short_guard),
            ..usual
        }
    }

    /// The cell with all defaults filled in.
    ///
    /// # Errors
    /// The field, and what would be right. The error's path begins with `path`.
    fn config(&self, path: &str) -> Result<CellConfig, ScenarioError> {
        let wrong = |(field, message): (&str, String)| error(format!("{path}.{field}"), message);
        if !(1..=MAX_STATIONS).contains(&self.count()) {
            let message = format!("{}: give from 1 to {MAX_STATIONS}", self.count());
            return Err(wrong(("stations", message)));
        }
        let channel = self.channel();
        channel.check().map_err(wrong)?;
        let mut config = CellConfig::new(channel, self.distances());
        let phy = Phy::new(channel);
        match self.access {
            Some(Access::Dcf) => (config.rule, config.parameters) = (Rule::Dcf, vec![wifi::Parameters::dcf(&phy)]),
            Some(Access::Edca) => {
                config.rule = Rule::Edca;
                let categories = wifi::Category::ALL.iter();
                config.parameters = categories.map(|&c| wifi::Parameters::edca(&phy, c)).collect();
            }
            None => {}
        }
        for (field, cw) in [("cw_min", self.cw_min), ("cw_max", self.cw_max)] {
            let Some(cw) = cw else { continue };
            if config.rule == Rule::Edca {
                let message = "EDCA has a window for each access category: leave it out, or give access = \"dcf\"";
                return Err(wrong((field, message.into())));
            }
            let parameters = &mut config.parameters[0];
            *(if field == "cw_min" { &mut parameters.cw_min } else { &mut parameters.cw_max }) = cw;
        }
        self.set_categories(&mut config, path)?;
        config.retries = match self.retries {
            None => config.retries,
            Some(Retries::Limit(limit)) => Some(limit),
            Some(Retries::Word(Unlimited::Unlimited)) => None,
        };
        if let Some(frames) = self.aggregate {
            let usual = config.aggregation;
            let most = wifi::Aggregation { frames, bytes: phy.aggregate_bytes };
            // One frame is none: it is acknowledged by itself.
            config.aggregation =
                if frames == 1 { None } else { Some(usual.map_or(most, |u| wifi::Aggregation { frames, ..u })) };
        }
        config.extended_space = self.eifs.unwrap_or(true);
        config.block_ack_request = self.block_ack_request.unwrap_or(false);
        config.lifetime = self.lifetime.map(|q| q.0);
        let radio = self.radio.unwrap_or_default();
        config.radio = radio.over(config.radio, &format!("{path}.radio"))?;
        config
            .check()
            .map_err(|(field, message)| wrong((if field == "aggregation" { "aggregate" } else { field }, message)))?;
        Ok(config)
    }

    /// Sets the parameters of EDCA that are given.
    fn set_categories(&self, config: &mut CellConfig, path: &str) -> Result<(), ScenarioError> {
        let Some(edca) = &self.edca else { return Ok(()) };
        if config.rule == Rule::Dcf {
            let message = "DCF has no access categories: leave it out, or give access = \"edca\"";
            return Err(error(format!("{path}.edca"), message));
        }
        let given = [&edca.background, &edca.best_effort, &edca.video, &edca.voice];
        for ((own, category), parameters) in given.into_iter().zip(wifi::Category::ALL).zip(&mut config.parameters) {
            let Some(own) = own else { continue };
            parameters.aifsn = own.aifsn.unwrap_or(parameters.aifsn);
            parameters.cw_min = own.cw_min.unwrap_or(parameters.cw_min);
            parameters.cw_max = own.cw_max.unwrap_or(parameters.cw_max);
            parameters.txop = own.txop.map_or(parameters.txop, |q| q.0);
            let place = |field: &str| format!("{path}.edca.{}.{field}", category.name());
            parameters.check().map_err(|(field, message)| error(place(field), message))?;
        }
        Ok(())
    }

    /// The stations, each with the rate of its distance.
    fn stations(&self, config: &CellConfig, path: &str) -> Result<Vec<Station>, ScenarioError> {
        let phy = Phy::new(config.channel);
        let [down, up] = [self.direction(path, "down", &self.down)?, self.direction(path, "up", &self.up)?];
        let station = |(number, distance): (usize, &Metres)| {
            let modulation = config.radio.modulation(&phy, *distance);
            let modulation = modulation.map_err(|message| error(format!("{path}.distance"), message))?;
            let at = |direction: &LinkConfig| {
                let rate = Some(modulation.rate);
                let mut config = LinkConfig { rate, delay: distance.propagation(), ..direction.clone() };
                let scale = config.scale(config.delay * 2);
                config.queue.resolve(&scale);
                config
            };
            Ok(Station { node: self.station(number), down: at(&down), up: at(&up) })
        };
        config.stations.iter().enumerate().map(station).collect()
    }

    /// The links of all stations in one direction.
    fn direction(&self, path: &str, way: &str, own: &Option<CellDirection>) -> Result<LinkConfig, ScenarioError> {
        let mtu = self.mtu.map_or(1500, |q| q.0.0 as u32);
        let mut config = LinkConfig { mtu, ..LinkConfig::default() };
        let of_cell = (path.to_string(), &self.queue, &self.loss);
        let of_way = own.as_ref().map(|own| (format!("{path}.{way}"), &own.queue, &own.loss));
        for (place, queue, loss) in [of_cell].into_iter().chain(of_way) {
            if let Some(queue) = queue {
                if queue.has_bdp() {
                    let message = "stations share the medium and differ in distance, so that a cell has no bandwidth-delay \
                                   product: give packets (\"1000p\") or bytes (\"64kB\")";
                    return Err(error(format!("{place}.queue"), message));
                }
                config.queue = queue.clone();
            }
            if let Some(loss) = loss {
                config.loss = loss.model(&format!("{place}.loss"))?;
            }
        }
        Ok(config)
    }
}

impl RadioSpec {
    /// The usual radio with what is given here.
    fn over(&self, usual: Radio, path: &str) -> Result<Radio, ScenarioError> {
        let fields = [
            ("power_dbm", self.power_dbm, -30.0..=60.0),
            ("loss_at_1m_db", self.loss_at_1m_db, 0.0..=120.0),
            ("path_loss_exponent", self.path_loss_exponent, 1.0..=10.0),
            ("noise_figure_db", self.noise_figure_db, 0.0..=40.0),
        ];
        for (field, value, range) in fields {
            if let Some(value) = value.filter(|value| !range.contains(value)) {
                let message = format!("{value}: give a number from {} to {}", range.start(), range.end());
                return Err(error(format!("{path}.{field}"), message));
            }
        }
        Ok(Radio {
            power_dbm: self.power_dbm.unwrap_or(usual.power_dbm),
            loss_at_1m_db: self.loss_at_1m_db.unwrap_or(usual.loss_at_1m_db),
            exponent: self.path_loss_exponent.unwrap_or(usual.exponent),
            noise_figure_db: self.noise_figure_db.unwrap_or(usual.noise_figure_db),
        })
    }
}
