//! The labels of a run's flows.

/// The description by which flows are told apart.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    /// The label that the scenario gives it.
    pub own: Option<&'a str>,
    /// The contender.
    pub contender: &'a str,
    /// `down` or `up`.
    pub direction: &'a str,
}

/// The label of each flow of a run: its own, or else its contender, and its direction where flows go both ways.
pub(super) fn labels(flows: &[Named<'_>]) -> Vec<String> {
    let both = flows.iter().any(|flow| flow.direction != flows[0].direction);
    let label = |flow: &Named<'_>| match (flow.own, both) {
        (Some(own), _) => own.to_string(),
        (None, true) => format!("{} {}", flow.contender, flow.direction),
        (None, false) => flow.contender.to_string(),
    };
    flows.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::{Named, labels};

    #[test]
    fn a_label_is_the_flows_own_or_has_the_direction_where_flows_go_both_ways() {
        let down = Named { own: None, contender: "tcp/cubic", direction: "down" };
        let up = Named { direction: "up", ..down };
        let other = Named { contender: "tcp/bbr", ..down };
        assert_eq!(labels(&[down, up]), ["tcp/cubic down", "tcp/cubic up"]);
        assert_eq!(labels(&[down, other]), ["tcp/cubic", "tcp/bbr"]);
        assert_eq!(labels(&[Named { own: Some("bulk"), ..down }, up]), ["bulk", "tcp/cubic up"]);
        assert!(labels(&[]).is_empty());
    }
}
