//! Channel access: the backoff of each function that contends for the medium (IEEE Std 802.11-2016, clauses 10.3.4 and 10.22.2).
//!
//! Time is divided into slots that are counted from SIFS after the last busy period. A function with `slots` left to count
//! and an interframe space of `aifsn` slots sends at slot `aifsn + slots`, unless another one sends before. This holds for all
//! stations, as all hear each other, so one subtraction for each of them replaces an event for each slot.

use super::phy::Phy;
use crate::rng::Stream;
use crate::time::Span;

/// The rule by which stations access the medium.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The distributed coordination function: one queue a station. A station that hears another send keeps its count.
    Dcf,
    /// Enhanced distributed channel access: four queues a station. A function takes one action at each slot boundary, so
    /// it also counts down at the boundary at which another one begins to send (clause 10.22.2.4).
    Edca,
}

crate::named! {
    /// An access category, by priority, the least important first.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Category {
        /// AC_BK.
        Background = "background",
        /// AC_BE.
        BestEffort = "best-effort",
        /// AC_VI.
        Video = "video",
        /// AC_VO.
        Voice = "voice",
    }
}

impl Category {
    /// The category of a DiffServ codepoint: its three highest bits are the user priority, as Linux does
    /// (`cfg80211_classify8021d`), and user priorities are mapped by table 10-1.
    pub const fn of_class(class: u8) -> Category {
        match class >> 3 {
            1 | 2 => Category::Background,
            4 | 5 => Category::Video,
            6 | 7 => Category::Voice,
            _ => Category::BestEffort,
        }
    }
}

/// The parameters of channel access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// Slots after SIFS before the backoff counts: AIFSN; 2 with DCF, which makes DIFS.
    pub aifsn: u32,
    /// The first contention window.
    pub cw_min: u32,
    /// The largest contention window.
    pub cw_max: u32,
    /// How long a station may go on sending once it has the medium; zero for one frame or aggregate.
    pub txop: Span,
}

impl Parameters {
    /// The parameters of DCF (clause 10.3.4.3).
    pub const fn dcf(phy: &Phy) -> Parameters {
        Parameters { aifsn: 2, cw_min: phy.cw_min, cw_max: phy.cw_max, txop: Span::ZERO }
    }

    /// The default EDCA parameters (IEEE Std 802.11-2012, table 8-105; also the defaults of hostapd).
    pub const fn edca(phy: &Phy, category: Category) -> Parameters {
        let (min, max) = (phy.cw_min, phy.cw_max);
        // The limits of direct sequence are twice as long.
        let factor = if phy.cw_min == 31 { 2 } else { 1 };
        match category {
            Category::Background => Parameters { aifsn: 7, cw_min: min, cw_max: max, txop: Span::ZERO },
            Category::BestEffort => Parameters { aifsn: 3, cw_min: min, cw_max: max, txop: Span::ZERO },
            Category::Video => Parameters {
                aifsn: 2,
                cw_min: min.div_ceil(2) - 1,
                cw_max: min,
                txop: Span::from_micros(3008 * factor),
            },
            Category::Voice => Parameters {
                aifsn: 2,
                cw_min: min.div_ceil(4) - 1,
                cw_max: min.div_ceil(2) - 1,
                txop: Span::from_micros(if factor == 2 { 3264 } else { 1504 }),
            },
        }
    }

    /// Checks the fields.
    ///
    /// # Errors
    /// The field, and what would be right.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if !(2..=15).contains(&self.aifsn) {
            return Err(("aifsn", format!("{}: give a number of slots from 2 to 15", self.aifsn)));
        }
        for (field, cw) in [("cw_min", self.cw_min), ("cw_max", self.cw_max)] {
            if !(cw.wrapping_add(1).is_power_of_two() && (1..=32_767).contains(&cw)) {
                let message = format!("{cw}: give a power of two less one, such as 15 or 1023, up to 32767");
                return Err((field, message));
            }
        }
        if self.cw_max < self.cw_min {
            return Err(("cw_max", format!("{} is less than cw_min, {}", self.cw_max, self.cw_min)));
        }
        Ok(())
    }
}

/// A function that contends for the medium: a station's DCF, or one of its four EDCA functions.
#[derive(Clone, Debug)]
pub(super) struct Contender {
    parameters: Parameters,
    /// Slots left to count, from the last busy period on.
    slots: u64,
    /// Whether it had counted to the end before the last busy period. If it gets something to send in a busy period, it must
    /// count anew.
    spent: bool,
    /// Attempts that failed since the last that did not.
    failures: u32,
    /// Whether it has something to send.
    pub active: bool,
    /// Which of its queues is served next.
    pub turn: usize,
}

impl Contender {
    pub fn new(parameters: Parameters) -> Contender {
        Contender { parameters, slots: 0, spent: true, failures: 0, active: false, turn: 0 }
    }

    pub fn txop(&self) -> Span {
        self.parameters.txop
    }

    /// The slot at which it sends if no other one does before.
    pub fn sends_at(&self) -> u64 {
        u64::from(self.parameters.aifsn) + self.slots
    }

    /// It gets something to send when `slot` is the next slot boundary; `None` if the medium is busy. It may send without
    /// another backoff if it has counted to the end before, and the medium was idle for its interframe space (clause 10.3.4.2).
    pub fn activate(&mut self, slot: Option<u64>, dice: &mut Stream) {
        self.active = true;
        match slot.and_then(|slot| slot.checked_sub(u64::from(self.parameters.aifsn))) {
            Some(counted) => self.slots = self.slots.max(counted),
            None if self.spent => self.draw(dice),
            None => {}
        }
    }

    /// Another one begins to send at `slot`. Those that do not contend count on as well.
    pub fn freeze(&mut self, slot: u64, rule: Rule) {
        let aifsn = u64::from(self.parameters.aifsn);
        self.spent |= self.sends_at() <= slot;
        let counted = match rule {
            Rule::Dcf => slot.saturating_sub(aifsn),
            Rule::Edca => (slot + 1).saturating_sub(aifsn),
        };
        self.slots = self.slots.saturating_sub(counted);
    }

    /// Its attempt succeeded, or the frame was given up: the window is the first one again.
    pub fn reset(&mut self, dice: &mut Stream) {
        self.failures = 0;
        self.draw(dice);
    }

    /// Its attempt failed: the window doubles.
    pub fn back_off(&mut self, dice: &mut Stream) {
        self.failures = (self.failures + 1).min(31);
        self.draw(dice);
    }

    fn draw(&mut self, dice: &mut Stream) {
        let window = (u64::from(self.parameters.cw_min) + 1) << self.failures;
        self.spent = false;
        self.slots = dice.below(window.min(u64::from(self.parameters.cw_max) + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::super::phy::{Channel, Standard};
    use super::*;
    use crate::rng::Streams;

    fn contender(slots: u64) -> Contender {
        Contender { slots, ..Contender::new(Parameters::dcf(&Phy::new(Channel::of(Standard::A)))) }
    }

    #[test]
    fn a_count_is_frozen_while_another_sends() {
        let after = |slots, slot, rule| {
            let mut contender = contender(slots);
            contender.freeze(slot, rule);
            contender.slots
        };
        // Others send after DIFS (2 slots) and 3 idle slots: 3 of 10 are counted; EDCA counts the boundary itself too.
        assert_eq!((after(10, 5, Rule::Dcf), after(10, 5, Rule::Edca)), (7, 6));
        // Within the interframe space nothing is counted.
        assert_eq!((after(10, 1, Rule::Dcf), after(10, 1, Rule::Edca)), (10, 10));
    }

    #[test]
    fn who_has_waited_already_sends_at_once() {
        let dice = &mut Streams::new(1, 0).named("dice");
        let mut early = contender(4);
        early.activate(Some(100), dice);
        assert_eq!(early.sends_at(), 100);
        let mut counting = contender(4);
        counting.activate(Some(3), dice);
        assert_eq!(counting.sends_at(), 6);
        let mut busy = contender(4);
        busy.spent = false;
        busy.activate(None, dice);
        assert_eq!(busy.sends_at(), 6);
        // A count of zero that was drawn for this idle period stands; one that was over before it does not.
        let mut drawn = |spent| {
            let mut one = Contender { spent, ..contender(0) };
            one.activate(None, dice);
            one.slots
        };
        assert_eq!([false; 9].map(&mut drawn), [0; 9]);
        assert!([true; 9].map(drawn).iter().any(|&slots| slots > 0));
    }

    #[test]
    fn windows_double_up_to_the_largest() {
        let dice = &mut Streams::new(1, 0).named("dice");
        let mut contender = contender(0);
        for window in [32, 64, 128, 256, 512, 1024, 1024, 1024] {
            let mut most = 0;
            for _ in 0..4000 {
                let mut one = contender.clone();
                one.back_off(dice);
                most = most.max(one.slots);
            }
            assert!(most < window && most > window * 9 / 10, "{most} of {window}");
            contender.back_off(dice);
        }
        contender.reset(dice);
        assert!(contender.slots < 16);
    }

    #[test]
    fn the_default_parameters_are_those_of_the_standard() {
        let values = |standard| {
            let phy = Phy::new(Channel::of(standard));
            Category::ALL.map(|category| {
                let p = Parameters::edca(&phy, category);
                assert_eq!(p.check(), Ok(()));
                (p.aifsn, p.cw_min, p.cw_max, p.txop.as_nanos() / 1000)
            })
        };
        assert_eq!(values(Standard::N), [(7, 15, 1023, 0), (3, 15, 1023, 0), (2, 7, 15, 3008), (2, 3, 7, 1504)]);
        assert_eq!(values(Standard::B), [(7, 31, 1023, 0), (3, 31, 1023, 0), (2, 15, 31, 6016), (2, 7, 15, 3264)]);
        assert_eq!(Category::of_class(46), Category::Video, "expedited forwarding has user priority 5 in Linux");
        assert_eq!([0, 8, 48].map(Category::of_class), [Category::BestEffort, Category::Background, Category::Voice]);
    }
}
