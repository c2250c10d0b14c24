//! All columns of result tables: those of the rows' structs, and those that come from several of them.

use super::seen::RealResult;
use super::{CellResult, FlowResult, LinkResult, LoadResult, ProbeResult, RunResult};
use haltere_net::columns;
use haltere_net::columns::{About, Better, Column, Comparison, MBIT_S, METRIC, Of, PLAIN, Shown};

columns! {
    /// Columns of a run's table that are not in its result.
    #[of(Run)]
    pub struct Derived {
        /// Fairness between the flows of a run, where they go both ways between those that go down: (Σx)² ÷ (n·Σx²) over the flows' throughputs x; 1 when all are equal, 1/n
        /// when one has everything (R. Jain, The Art of Computer Systems Performance Analysis, Wiley, 1991).
        pub jain: Option<f64> = About {
            better: Better::Higher,
            metrics: &[Shown {
                name: "fairness",
                label: "Jain's index",
                // The margin is the loss of fairness by a split of 55 : 45 instead of 50 : 50.
                comparison: Comparison::Difference { alike: 0.01, full: 0.2 },
                ceiling: Some(1.0),
                ..METRIC
            }],
            ..PLAIN
        },
        /// Jain's index between the flows that go up, where flows go both ways.
        pub jain_up: Option<f64>,
        /// Jain's index between all flows, where they go both ways.
        pub jain_both: Option<f64>,
        /// The rate of the packets of all loads that arrived, over the whole run, bit/s; null without loads.
        pub loads_bps: Option<f64> = About {
            better: Better::Higher,
            metrics: &[Shown { name: "load_rate", label: "Rate of the loads", scale: MBIT_S, ..METRIC }],
            ..PLAIN
        },
        /// The RTT of the measured path that the run was over, where its topology is drawn from such.
        pub path_rtt_s: Option<f64>,
        /// The hops of that path.
        pub path_hops: Option<u64>,
    }
}

/// All columns: a run's, a flow's, a link's and so on, each in the order of its table.
pub fn all() -> Vec<Column> {
    let links = LinkResult::declared();
    let bottleneck = links.iter().filter_map(Column::of_bottleneck).collect();
    // Metrics of the bottleneck are the run's.
    let links = links.into_iter().map(|c| Column { about: About { metrics: &[], ..c.about }, ..c }).collect();
    let (requests, probes): (Vec<_>, Vec<_>) = ProbeResult::declared().into_iter().partition(|c| c.about.requests);
    let whose = probes.iter().filter(|c| ["probe", "probe_kind"].contains(&&*c.name)).cloned();
    let requests = whose.chain(requests).map(|c| Column { of: Of::Request, list: false, ..c }).collect();
    [
        RunResult::declared(),
        RealResult::declared(),
        FlowResult::declared(),
        probes,
        requests,
        Derived::declared(),
        bottleneck,
        links,
        LoadResult::declared(),
        CellResult::declared(),
    ]
    .concat()
}
