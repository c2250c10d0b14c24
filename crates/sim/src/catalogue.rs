//! The names that scenarios can use, as JSON: contenders' parts, queue disciplines and presets. Python and the playground show them.

use crate::contender::{BUNDLES, Bundle, SETTINGS, Setting, Transport, catalogue as mechanisms};
use crate::scenario::Preset;
use crate::stack::{Entry, catalogue};
use crate::video::RateAdaptation;
use haltere_net::queue::{Discipline, Parameter};
use haltere_transport::cc::Algorithm;
use haltere_transport::rtp::control::Control;
use haltere_transport::scheduler::Scheduler;
use serde_json::{Value, json};

/// The known transports, congestion controls, those of calls, rate adaptations of films, path schedulers, production stacks, switches,
/// names of settings and bundles as JSON.
pub fn algorithms() -> Value {
    let transports = Transport::ALL.map(|t| json!({ "name": t.describe().0, "summary": t.describe().1 }));
    let algorithm = |a: &Algorithm| {
        let d = a.describe();
        json!({
            "name": d.name, "summary": d.summary, "reference": d.reference, "label": a.label, "shade": a.shade,
            "linux": a.linux, "needs_ecn": a.needs_ecn(), "l4s": a.is_l4s(), "coupled": a.coupled
        })
    };
    let congestion: Vec<_> = Algorithm::ALL.iter().map(algorithm).collect();
    let media = |c: &Control| {
        let d = c.describe();
        json!({ "name": d.name, "summary": d.summary, "reference": d.reference, "label": c.label })
    };
    let media: Vec<_> = Control::ALL.iter().map(media).collect();
    let adaptation = |a: &RateAdaptation| {
        let d = a.describe();
        json!({ "name": d.name, "summary": d.summary, "reference": d.reference })
    };
    let adaptations: Vec<_> = RateAdaptation::ALL.iter().map(adaptation).collect();
    let scheduler = |s: &Scheduler| {
        let d = s.describe();
        json!({ "name": d.name, "summary": d.summary, "reference": d.reference })
    };
    let schedulers: Vec<_> = Scheduler::ALL.iter().map(scheduler).collect();
    let settings: Vec<_> = SETTINGS.iter().map(setting).collect();
    let stack = |s: &Entry| {
        let refused: Vec<_> = s.refused.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
        json!({
            "name": s.name, "version": s.version, "congestion": s.congestion, "schedulers": s.schedulers,
            "refused": refused, "summary": s.summary
        })
    };
    let stacks: Vec<_> = catalogue().iter().map(stack).collect();
    json!({
        "transports": transports, "congestion": congestion, "media": media, "adaptations": adaptations, "schedulers": schedulers, "stacks": stacks,
        "switches": mechanisms(), "settings": settings, "bundles": BUNDLES.iter().map(bundle).collect::<Vec<_>>()
    })
}

/// The queue disciplines with their parameters as JSON.
pub fn queues() -> Value {
    let discipline = |discipline: &Discipline| {
        let about = discipline.describe();
        let parameter =
            |p: &Parameter| json!({ "name": p.name, "default": p.default, "example": p.example, "summary": p.summary });
        let parameters: Vec<_> = discipline.parameters().iter().map(parameter).collect();
        json!({ "name": about.name, "summary": about.summary, "reference": about.reference, "parameters": parameters })
    };
    Discipline::ALL.iter().map(discipline).collect()
}

/// The presets of links and cells with their numbers and sources as JSON.
pub fn presets() -> Value {
    let preset = |preset: &Preset| {
        let (name, summary) = preset.describe();
        let of = if preset.is_cell() { "cell" } else { "link" };
        json!({ "name": name, "also": preset.also(), "of": of, "summary": summary, "settings": preset.settings() })
    };
    Preset::ALL.iter().map(preset).collect()
}

/// A name for a setting of switches, as JSON.
fn setting(setting: &Setting) -> Value {
    let applies: Vec<&str> = setting.transports.iter().map(|t| t.describe().0).collect();
    json!({ "name": setting.name, "applies_to": applies, "means": setting.means() })
}

fn bundle(bundle: &Bundle) -> Value {
    let sets: Vec<_> = bundle
        .sets
        .iter()
        .map(|part| json!({ "name": part.name, "value": bundle.shown(part), "source": part.source }))
        .collect();
    json!({
        "name": bundle.name, "applies_to": [bundle.transport.describe().0], "summary": bundle.summary,
        "means": bundle.means(), "lacks": bundle.lacks, "sets": sets
    })
}
