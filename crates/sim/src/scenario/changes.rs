//! A scenario with one thing done differently. Documents are changed, also those over measured paths, and keep the form in
//! which they were written.

use super::link::LossSpec;
use super::quantity::split;
use crate::Fidelity;
use crate::contender::Contender;
use haltere_net::loss::LossModel;
use haltere_net::queue::Length;
use serde::Deserialize;
use serde_json::{Map, Value, json};

type Table = Map<String, Value>;

/// One thing done differently.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", content = "given", rename_all = "kebab-case")]
pub enum Change {
    /// The queues of the links that matter: another one, or their own with its limit multiplied.
    Queue(Given),
    /// The losses of the links that matter: the mean length of their bursts in packets, `none`, or `uniform` ones of the same mean.
    Loss(Given),
    /// The drivers' rings of all links: multiplied, or `bql` or `no-bql` for byte queue limits.
    Interface(Given),
    /// The ToS octet of the flows that have one.
    Mark(u8),
    /// The size of objects, and of messages' payload, multiplied.
    Size(f64),
    /// A switch of the contenders of a transport.
    Switch(Switching),
}

/// A factor, or a word.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Given {
    /// A factor or number.
    Number(f64),
    /// A word.
    Word(String),
}

/// A switch in the place of a contender's own of that name.
#[derive(Clone, Debug, Deserialize)]
pub struct Switching {
    /// The transport whose contenders have it.
    pub transport: String,
    /// Its name.
    pub name: String,
    /// The switch as it is written, such as `+initial-window=40`.
    pub text: String,
}

impl Change {
    /// Changes a scenario's document. Returns whether anything is different.
    pub fn apply(&self, document: &mut Value, fidelity: Fidelity) -> bool {
        match self {
            Change::Switch(switching) => switching.apply(document, fidelity),
            Change::Size(factor) => each_flow(document, |flow| {
                let size = replace(flow, "size", |old| times(old.as_str()?, *factor));
                let messages = flow.get_mut("mqtt").and_then(Value::as_object_mut);
                messages.is_some_and(|mqtt| replace(mqtt, "payload", |old| times(old.as_str()?, *factor))) || size
            }),
            Change::Mark(tos) => each_flow(document, |flow| replace(flow, "tos", |_| Some(json!(tos)))),
            Change::Queue(given) => each_link(document, Which::Varied, |link| {
                replace(link, "queue", |old| match given {
                    Given::Number(factor) => queue_times(old, *factor),
                    Given::Word(word) => Some(json!(word)),
                })
            }),
            Change::Loss(given) => {
                each_link(document, Which::Varied, |link| replace(link, "loss", |old| loss(old, given)))
            }
            Change::Interface(Given::Number(factor)) => {
                each_link(document, Which::All, |link| replace(link, "ring", |old| times(old.as_str()?, *factor)))
            }
            Change::Interface(Given::Word(word)) => each_link(document, Which::All, |link| {
                let on = word == "bql";
                let limited = link.contains_key("ring") || link.contains_key("bql");
                let different = limited && link.get("bql").and_then(Value::as_bool).unwrap_or(true) != on;
                if different {
                    link.insert("bql".into(), json!(on));
                }
                different
            }),
        }
    }
}

/// Replaces a field that is given. Returns whether it is different.
fn replace(table: &mut Table, field: &str, new: impl Fn(&Value) -> Option<Value>) -> bool {
    let Some(value) = table.get_mut(field) else { return false };
    match new(value) {
        Some(new) if new != *value => {
            *value = new;
            true
        }
        _ => false,
    }
}

fn each_flow(document: &mut Value, mut change: impl FnMut(&mut Table) -> bool) -> bool {
    let flows = document.get_mut("flows").and_then(Value::as_array_mut);
    let flows = flows.into_iter().flatten().filter_map(Value::as_object_mut);
    let mut changed = false;
    for flow in flows {
        changed |= change(flow);
    }
    changed
}

/// Links of a topology.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// The links whose queue and losses are varied: the bottleneck and the only link, the links of all paths, and of a graph those with
    /// losses or the name `bottleneck`; of a graph without such all links, and its cells.
    Varied,
    /// All but those of cells: interfaces are those of all hosts and routers.
    All,
}

/// Changes the tables of links, and those of their two directions.
fn each_link(document: &mut Value, which: Which, mut change: impl FnMut(&mut Table) -> bool) -> bool {
    let mut links: Vec<&mut Value> = Vec::new();
    let topology = document.get_mut("topology").and_then(Value::as_object_mut);
    for (name, value) in topology.into_iter().flatten() {
        match name.as_str() {
            "bottleneck" | "link" => links.push(value),
            "access" if which == Which::All => links.push(value),
            "paths" => links.extend(value.as_array_mut().into_iter().flatten()),
            "cells" if which == Which::Varied => links.extend(value.as_array_mut().into_iter().flatten()),
            "links" => {
                let lossy = |one: &Value| one["name"] == "bottleneck" || one["link"].get("loss").is_some();
                let all = value.as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
                let every = which == Which::All || !all.iter().any(lossy);
                let chosen = all.iter_mut().filter(|one| every || lossy(one));
                links.extend(chosen.filter_map(|one| one.get_mut("link")));
            }
            _ => {}
        }
    }
    let mut changed = false;
    for link in links.into_iter().filter_map(Value::as_object_mut) {
        changed |= change(link);
        for side in ["down", "up"] {
            changed |= link.get_mut(side).and_then(Value::as_object_mut).is_some_and(&mut change);
        }
    }
    changed
}

/// A quantity such as `1000p` or `0.5bdp` times a factor, in its unit; packets and bytes stay whole.
fn times(quantity: &str, factor: f64) -> Option<Value> {
    let (number, unit) = split(quantity)?;
    let product = number * factor;
    let whole = matches!(unit, "p" | "B");
    Some(json!(if whole {
        format!("{}{unit}", product.round_ties_even().max(1.0))
    } else {
        rounded(product, 6) + unit
    }))
}

/// A number with so many significant digits.
fn rounded(number: f64, digits: usize) -> String {
    let text = format!("{number:.*e}", digits - 1);
    text.parse::<f64>().map_or(text, |number| number.to_string())
}

/// A queue whose limit is multiplied, if it states one.
fn queue_times(queue: &Value, factor: f64) -> Option<Value> {
    if let Value::Object(table) = queue {
        let limit = times(table.get("limit")?.as_str()?, factor)?;
        return Some(Value::Object(
            table.iter().map(|(k, v)| (k.clone(), if k == "limit" { limit.clone() } else { v.clone() })).collect(),
        ));
    }
    let word = queue.as_str()?;
    if Length::parse(word).is_ok() {
        return times(word, factor);
    }
    let (before, rest) = word.split_once("limit=")?;
    let limit = rest.split([',', ';']).next()?;
    before.ends_with([':', ',', ';']).then_some(())?;
    let new = times(limit, factor)?;
    Some(json!(format!("{before}limit={}{}", new.as_str()?, &rest[limit.len()..])))
}

/// The value in the place of losses.
fn loss(old: &Value, given: &Given) -> Option<Value> {
    let model = LossSpec::deserialize(old).ok().and_then(|loss| loss.model("").ok())?;
    let mean = mean(&model);
    match given {
        Given::Word(word) if word == "none" => (mean != Some(0.0)).then(|| json!("0%")),
        Given::Word(_) if matches!(model, LossModel::Uniform { .. }) => None,
        Given::Word(_) => Some(json!(rounded(100.0 * mean?, 8) + "%")),
        Given::Number(length) => bursts(mean?, *length),
    }
}

/// The mean of independent losses and of those of two states.
fn mean(model: &LossModel) -> Option<f64> {
    match *model {
        LossModel::Uniform { p } => Some(p),
        LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_in_bad, loss_in_good } => {
            let share = good_to_bad / (good_to_bad + bad_to_good);
            share.is_finite().then_some(share * loss_in_bad + (1.0 - share) * loss_in_good)
        }
        _ => None,
    }
}

/// Gilbert's model with this mean loss and bursts of this mean length, packets. All packets of the bad state are lost. It is left
/// with probability 1/length, and entered so often that the share of time in it is the mean loss (E. N. Gilbert, Bell System
/// Technical Journal 39, 1960).
fn bursts(mean: f64, length: f64) -> Option<Value> {
    let back = 1.0 / length;
    let there = mean * back / (1.0 - mean);
    let possible = mean > 0.0 && mean < 1.0 && there <= 1.0;
    let percent = |p: f64| rounded(100.0 * p, 8) + "%";
    possible.then(|| json!({ "model": "gilbert-elliott", "good_to_bad": percent(there), "bad_to_good": percent(back) }))
}

impl Switching {
    /// Puts the switch into every contender that can have it and is another with it.
    fn apply(&self, value: &mut Value, fidelity: Fidelity) -> bool {
        match value {
            Value::Array(list) => self.apply_to(list.iter_mut(), fidelity),
            Value::Object(table) => {
                let own = replace(table, "contender", |old| Some(json!(self.switched(old.as_str()?, fidelity)?)));
                self.apply_to(table.values_mut(), fidelity) || own
            }
            _ => false,
        }
    }

    /// Puts the switch into every one of these values. Returns whether any is another with it.
    fn apply_to<'a>(&self, values: impl Iterator<Item = &'a mut Value>, fidelity: Fidelity) -> bool {
        let mut changed = false;
        for value in values {
            changed |= self.apply(value, fidelity);
        }
        changed
    }

    /// A contender with the switch in the place of its own of that name.
    fn switched(&self, contender: &str, fidelity: Fidelity) -> Option<String> {
        let before = Contender::parse(contender).ok().filter(|c| c.transport.describe().0 == self.transport)?;
        let after = before.with(&self.name, &self.text).ok()?;
        let (one, other) = (before.effective(fidelity).ok()?, after.effective(fidelity).ok()?);
        // Settings in effect do not list the switches of handshakes and buffers.
        let plain = Contender::parse(&format!("{}/cubic", self.transport)).and_then(|c| c.effective(Fidelity::Model));
        let listed = plain.ok()?.settings.iter().any(|setting| setting.name == self.name) || self.name == "as";
        (!listed || one != other).then(|| after.as_str().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_multiplied_where_it_is_written() {
        let queue = |queue: Value, factor| queue_times(&queue, factor);
        assert_eq!(queue(json!("1000p"), 0.25), Some(json!("250p")));
        assert_eq!(queue(json!("0.5bdp"), 4.0), Some(json!("2bdp")));
        let word = "pfifo_fast:batch=1,limit=200p";
        assert_eq!(queue(json!(word), 2.0), Some(json!("pfifo_fast:batch=1,limit=400p")));
        let table = json!({ "discipline": "red", "limit": "300kB" });
        assert_eq!(queue(table, 2.0), Some(json!({ "discipline": "red", "limit": "600kB" })));
        assert_eq!(queue(json!("fq_codel"), 2.0), None);
    }

    #[test]
    fn bursts_have_the_mean_loss_and_the_mean_length() {
        for (old, length) in [("1%", 4.0), ("0.1%", 16.0)] {
            let model = |loss: &Value| LossSpec::deserialize(loss).unwrap().model("").unwrap();
            let made = loss(&json!(old), &Given::Number(length)).unwrap();
            let (was, is) = (mean(&model(&json!(old))).unwrap(), mean(&model(&made)).unwrap());
            assert!((is / was - 1.0).abs() < 1e-5, "{made}");
            let LossModel::GilbertElliott { bad_to_good, .. } = model(&made) else { panic!("{made}") };
            assert!((bad_to_good * length - 1.0).abs() < 1e-9);
            let again = loss(&made, &Given::Word("uniform".into())).unwrap();
            assert!((mean(&model(&again)).unwrap() / was - 1.0).abs() < 1e-5, "{again}");
            assert_eq!(loss(&json!(old), &Given::Word("uniform".into())), None);
        }
        assert_eq!(loss(&json!("0%"), &Given::Word("none".into())), None);
        assert_eq!(loss(&json!("90%"), &Given::Number(1.0)), None);
    }
}
