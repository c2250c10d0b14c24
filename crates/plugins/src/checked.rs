//! The decisions of loaded code, checked before a transport sees them.

use crate::abi;
use crate::trust::Trust;
use haltere_net::Rate;
use haltere_net::fault::Faults;
use haltere_transport::cc::Ask;

/// The largest window and quantum, bytes: more than any path holds.
const LARGEST: i64 = 1 << 40;
/// The largest pacing rate, bit/s.
const FASTEST: i64 = 1 << 50;

/// The last valid decisions of a controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Decisions {
    /// The window, bytes.
    pub window: u64,
    /// The slow-start threshold, bytes; `u64::MAX` if none is set.
    pub ssthresh: u64,
    /// The pacing rate, if it paces.
    pub pacing_rate: Option<Rate>,
    /// How many bytes may be sent back to back when paced.
    pub send_quantum: u64,
    /// Its request.
    pub ask: Ask,
    /// Whether it sets its window during recovery itself.
    pub owns_recovery: bool,
    /// Whether the window grows exponentially.
    pub in_slow_start: bool,
}

impl Decisions {
    /// The decisions of a controller that has not decided anything: a window of a segment.
    pub fn of_none(mss: u64) -> Decisions {
        Decisions {
            window: mss,
            ssthresh: u64::MAX,
            pacing_rate: None,
            send_quantum: 0,
            ask: Ask::Nothing,
            owns_recovery: false,
            in_slow_start: true,
        }
    }
}

/// The controls of a controller, as they are before it is created.
pub const UNDECIDED: abi::Control = abi::Control {
    window: 0,
    ssthresh: abi::HALTERE_NEVER,
    pacing_rate: 0,
    send_quantum: 0,
    ask: abi::HALTERE_ASK_NOTHING,
    owns_recovery: false,
    startup: true,
    failure: std::ptr::null(),
};

/// Whether two controls are the same. All of them are compared, as most calls change none: branches would cost more.
#[inline]
pub(crate) fn same(a: &abi::Control, b: &abi::Control) -> bool {
    let signs = u32::from(a.owns_recovery ^ b.owns_recovery) | u32::from(a.startup ^ b.startup) | (a.ask ^ b.ask);
    let numbers = (a.window ^ b.window)
        | (a.ssthresh ^ b.ssthresh)
        | (a.pacing_rate ^ b.pacing_rate)
        | (a.send_quantum ^ b.send_quantum)
        | i64::from(signs);
    (numbers == 0) & (a.failure == b.failure)
}

/// Whether a controller still decides. Once it has failed it is not called again, and its last valid decisions hold until the run
/// ends, which is at once.
#[derive(Clone, Debug)]
pub struct Verdict {
    trust: Trust,
    /// The decisions that hold.
    pub decisions: Decisions,
}

impl Verdict {
    /// A controller of this name that has not decided anything.
    pub fn new(name: &'static str, mss: u64, faults: Faults) -> Verdict {
        Verdict { trust: Trust::new(name, faults), decisions: Decisions::of_none(mss) }
    }

    /// Whether it has failed.
    #[inline]
    pub fn failed(&self) -> bool {
        self.trust.failed()
    }

    /// The controller has failed in `call`, for this reason.
    #[cold]
    pub fn fail(&mut self, call: &str, reason: &str) {
        self.trust.fail(call, reason);
    }

    /// Takes what the controller decided in `call`, if it is valid; otherwise the controller has failed.
    #[inline]
    pub fn take(&mut self, call: &str, control: &abi::Control) {
        match checked(control) {
            Ok(decisions) => self.decisions = decisions,
            Err(wrong) => self.fail(call, &wrong),
        }
    }
}

/// Implements the questions of a transport to a controller by what its `verdict` holds.
#[macro_export]
macro_rules! answers_by_verdict {
    () => {
        #[inline]
        fn window(&self) -> u64 {
            self.verdict.decisions.window
        }
        fn ssthresh(&self) -> u64 {
            self.verdict.decisions.ssthresh
        }
        #[inline]
        fn pacing_rate(&self) -> Option<haltere_net::Rate> {
            self.verdict.decisions.pacing_rate
        }
        fn send_quantum(&self) -> u64 {
            self.verdict.decisions.send_quantum
        }
        fn owns_recovery(&self) -> bool {
            self.verdict.decisions.owns_recovery
        }
        fn asks(&self) -> haltere_transport::cc::Ask {
            self.verdict.decisions.ask
        }
        fn in_slow_start(&self) -> bool {
            self.verdict.decisions.in_slow_start
        }
    };
}

#[inline]
fn checked(control: &abi::Control) -> Result<Decisions, String> {
    let within = |name: &str, value: i64, least: i64, most: i64, unit: &str| {
        if (least..=most).contains(&value) {
            Ok(value as u64)
        } else {
            Err(format!("{name} is {value}: give a number of {unit} from {least} to {most}"))
        }
    };
    let window = within("the window", control.window, 1, LARGEST, "bytes")?;
    let ssthresh = match control.ssthresh {
        abi::HALTERE_NEVER => u64::MAX,
        bytes => within("the slow-start threshold", bytes, 0, LARGEST, "bytes (or leave it unset)")?,
    };
    let rate = within("the pacing rate", control.pacing_rate, 0, FASTEST, "bits a second")?;
    let ask = match control.ask {
        abi::HALTERE_ASK_NOTHING => Ask::Nothing,
        abi::HALTERE_ASK_APP_LIMITED => Ask::MarkAppLimited,
        abi::HALTERE_ASK_REDUCE => Ask::Reduce,
        other => return Err(format!("the request {other} is unknown: give one of HALTERE_ASK_…, 0 to 2")),
    };
    Ok(Decisions {
        window,
        ssthresh,
        pacing_rate: (rate > 0).then(|| Rate::from_bps(rate)),
        send_quantum: within("the send quantum", control.send_quantum, 0, LARGEST, "bytes")?,
        ask,
        owns_recovery: control.owns_recovery,
        in_slow_start: if ssthresh == u64::MAX { control.startup } else { window < ssthresh },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(change: impl Fn(&mut abi::Control)) -> Result<Decisions, String> {
        let mut control = abi::Control { window: 14_480, ..UNDECIDED };
        change(&mut control);
        checked(&control)
    }

    #[test]
    fn valid_decisions_are_taken_as_they_are() {
        let plain = decided(|_| ()).unwrap();
        assert_eq!((plain.window, plain.ssthresh, plain.pacing_rate), (14_480, u64::MAX, None));
        assert!(plain.in_slow_start);
        let paced = decided(|c| (c.pacing_rate, c.startup, c.send_quantum) = (8_000_000, false, 3000)).unwrap();
        assert_eq!((paced.pacing_rate, paced.send_quantum), (Some(Rate::from_bps(8_000_000)), 3000));
        assert!(!paced.in_slow_start);
        let set = |ssthresh| decided(|c| (c.ssthresh, c.startup) = (ssthresh, false)).unwrap().in_slow_start;
        assert_eq!([set(14_480), set(14_481)], [false, true], "a threshold decides, if one is set");
        assert_eq!(decided(|c| c.ask = abi::HALTERE_ASK_REDUCE).unwrap().ask, Ask::Reduce);
    }

    #[test]
    fn invalid_decisions_are_refused_with_what_would_be_right() {
        let said = |change: fn(&mut abi::Control)| decided(change).unwrap_err();
        assert_eq!(said(|c| c.window = 0), "the window is 0: give a number of bytes from 1 to 1099511627776");
        assert!(said(|c| c.window = i64::MAX).starts_with("the window is 9223372036854775807: "));
        assert!(said(|c| c.window = -5).starts_with("the window is -5: "));
        assert!(said(|c| c.ssthresh = -1).starts_with("the slow-start threshold is -1: "));
        assert!(said(|c| c.pacing_rate = -1).starts_with("the pacing rate is -1: "));
        assert!(said(|c| c.send_quantum = LARGEST + 1).starts_with("the send quantum is "));
        assert!(said(|c| c.ask = 3).starts_with("the request 3 is unknown"));
    }

    #[test]
    fn controls_are_the_same_if_all_of_them_are() {
        let one = abi::Control { window: 14_480, ..UNDECIDED };
        assert!(same(&one, &one.clone()));
        let changes: [fn(&mut abi::Control); 8] = [
            |c| c.window += 1,
            |c| c.ssthresh -= 1,
            |c| c.pacing_rate = 1,
            |c| c.send_quantum = 1,
            |c| c.ask = 1,
            |c| c.owns_recovery = true,
            |c| c.startup = false,
            |c| c.failure = c"it failed".as_ptr(),
        ];
        for change in changes {
            let mut other = one;
            change(&mut other);
            assert!(!same(&one, &other) && !same(&other, &one));
        }
    }

    #[test]
    fn a_controller_that_failed_keeps_its_last_decisions() {
        let faults = Faults::default();
        let mut verdict = Verdict::new("mine.so", 1448, faults.clone());
        verdict.take("create", &abi::Control { window: 14_480, ..UNDECIDED });
        verdict.take("on_ack", &abi::Control { window: -1, ..UNDECIDED });
        assert!(verdict.failed() && verdict.decisions.window == 14_480);
        let said = faults.raised().unwrap();
        assert!(said.starts_with("mine.so: on_ack: the window is -1: "), "{said}");
    }
}
