//! The calendar of str0m. It takes the time as [`Instant`], and turns that into the date of the system's clock where a report carries one
//! (RFC 3550 section 6.4.1). Round trips are measured by these reports, in units of 15 µs that begin with the second of the date, and the
//! receiver waits for repairs by them. So a run must begin on a fixed date, not when it happens to be made.
//!
//! str0m does not say which date an instant has, but in its reports. Two ends that talk in memory, once for each process, show it.

use super::dice::Dice;
use super::peer::{Setup, peer};
use crate::addresses::AddressPair;
use crate::clock::Clock;
use crate::config::{Estimate, Part};
use haltere_net::{PathId, Rate};
use haltere_transport::Role;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};
use str0m::net::{Protocol, Receive};
use str0m::rtp::RawPacket;
use str0m::rtp::rtcp::{ReportBlock, Rtcp};
use str0m::{Event, Input, Output, Rtc, RtcError};

/// Every run begins on 2035-01-01. It must lie ahead of every machine's clock, as no instant may lie before the process, and before the dates
/// of RFC 3550 begin anew in 2036.
const BEGINNING: Duration = Duration::from_secs(2_051_222_400);

/// How long, and in which steps, the two ends talk.
const TALK: (Duration, Duration) = (Duration::from_secs(10), Duration::from_millis(10));

/// The instant at which runs begin.
static BASE: LazyLock<Option<Instant>> = LazyLock::new(|| {
    let (instant, date) = dated().ok().flatten()?;
    let ahead = (SystemTime::UNIX_EPOCH + BEGINNING).duration_since(date).ok()?;
    instant.checked_add(ahead)
});

/// The clock of str0m's ends. On a machine whose clock does not show a date before 2035, round trips differ by some microseconds between runs.
pub(super) fn clock() -> Clock {
    BASE.map_or_else(Clock::new, Clock::from_base)
}

/// An instant and its date.
#[expect(clippy::disallowed_methods, reason = "there is no other way to an Instant; runs begin on a date of ours")]
fn dated() -> Result<Option<(Instant, SystemTime)>, RtcError> {
    let begin = Instant::now();
    let mut ends = [(Role::Client, Part::Sends), (Role::Server, Part::Receives)].map(|(role, part)| {
        let setup = Setup {
            role,
            addresses: AddressPair::of_path(role, PathId(0)),
            part,
            start: Rate::from_bps(300_000),
            most: Rate::from_bps(300_000),
            estimate: Estimate::Told,
            max_udp_payload: 1200,
            reports_packets: true,
        };
        peer(setup, &mut Dice::of_both(), begin)
    });
    let [Ok((client, _)), Ok((server, _))] = &mut ends else { return Ok(None) };
    let mut now = begin;
    while now < begin + TALK.0 {
        let told = [pass_on(client, server, now)?, pass_on(server, client, now)?];
        if let Some(date) = told.into_iter().flatten().next() {
            return Ok(Some((now, date)));
        }
        now += TALK.1;
    }
    Ok(None)
}

/// Passes what one end sends on to the other; returns the date of `now` if the end has told it.
fn pass_on(from: &mut Rtc, to: &mut Rtc, now: Instant) -> Result<Option<SystemTime>, RtcError> {
    from.handle_input(Input::Timeout(now))?;
    loop {
        match from.poll_output()? {
            Output::Timeout(_) => return Ok(None),
            Output::Transmit(sent) => {
                let Ok(received) = Receive::new(Protocol::Udp, sent.source, sent.destination, &sent.contents) else {
                    continue;
                };
                to.handle_input(Input::Receive(now, received))?;
            }
            Output::Event(Event::RawPacket(packet)) => {
                if let RawPacket::RtcpTx(Rtcp::ExtendedReport(report)) = *packet
                    && let Some(ReportBlock::Rrtr(time)) = report.blocks.first()
                {
                    return Ok(Some(time.ntp_time));
                }
            }
            Output::Event(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_tell_the_date() {
        let (first, again) = (dated().unwrap().unwrap(), dated().unwrap().unwrap());
        assert_eq!(again.0 - first.0, again.1.duration_since(first.1).unwrap());
        assert!(BASE.is_some());
    }
}
