//! One end of str0m after an offer and an answer, of which no packet goes over the network: each end knows the other's address, credentials,
//! certificate and numbers of streams.

use super::crypto;
use super::dice::Dice;
use crate::addresses::AddressPair;
use crate::config::{Estimate, Part};
use haltere_net::{Rate, Span};
use haltere_transport::Role;
use std::time::{Duration, Instant};
use str0m::bwe::Bitrate;
use str0m::config::DtlsCert;
use str0m::ice::IceCreds;
use str0m::media::{Direction, MediaKind, Mid};
use str0m::{Candidate, DATAGRAM_MTU_TARGET, DATAGRAM_MTU_TARGET_MIN, DATAGRAM_MTU_WARN, Rtc, RtcConfig, RtcError};

/// How an end is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub role: Role,
    pub addresses: AddressPair,
    pub part: Part,
    /// The estimate that the congestion control begins with, and the rate that it probes for.
    pub start: Rate,
    pub most: Rate,
    pub estimate: Estimate,
    /// The largest UDP payload of the path, bytes.
    pub max_udp_payload: u16,
    /// Whether the end reports the packets of RTCP as it wrote them.
    pub reports_packets: bool,
}

/// How often str0m tells its counters, and how often if the encoder follows the estimates in them.
const STATISTICS: Duration = Duration::from_secs(1);
const RAW: Duration = Duration::from_millis(50);

/// The credentials of ICE, as long as those that str0m makes itself.
fn credentials(role: Role) -> IceCreds {
    let [ufrag, pass] = match role {
        Role::Client => ["client0123456789", "client0123456789abcdef"],
        Role::Server => ["server0123456789", "server0123456789abcdef"],
    };
    IceCreds { ufrag: ufrag.into(), pass: pass.into() }
}

fn other(role: Role) -> Role {
    match role {
        Role::Client => Role::Server,
        Role::Server => Role::Client,
    }
}

pub(super) fn bitrate(rate: Rate) -> Bitrate {
    Bitrate::bps(rate.as_bps())
}

/// An end that knows of no other yet, at `now`.
fn alone(setup: Setup, now: Instant) -> Result<Rtc, RtcError> {
    let mtu = usize::from(setup.max_udp_payload).clamp(DATAGRAM_MTU_TARGET_MIN, DATAGRAM_MTU_TARGET);
    let certificate = DtlsCert { certificate: crypto::CERTIFICATE.to_vec(), private_key: crypto::KEY.to_vec() };
    let statistics = if setup.estimate == Estimate::Raw { RAW } else { STATISTICS };
    let config = RtcConfig::new()
        .set_crypto_provider(crypto::provider())
        .set_dtls_cert(certificate)
        .set_local_ice_credentials(credentials(setup.role))
        .clear_codecs()
        .enable_vp8(true)
        .set_mtu(mtu..=DATAGRAM_MTU_WARN)
        .set_stats_interval(Some(statistics))
        .enable_raw_packets(setup.reports_packets)
        .enable_bwe((setup.part != Part::Receives).then_some(bitrate(setup.start)));
    let mut rtc = config.build(now);
    rtc.add_local_candidate(Candidate::host(setup.addresses.local, "udp")?);
    Ok(rtc)
}

impl Setup {
    /// The other end's, as far as it is told in an offer or an answer.
    fn other(self) -> Setup {
        let AddressPair { local, remote } = self.addresses;
        let part = match self.part {
            Part::Sends => Part::Receives,
            Part::Receives => Part::Sends,
            Part::Both => Part::Both,
        };
        Setup { role: other(self.role), addresses: AddressPair { local: remote, remote: local }, part, ..self }
    }

    fn direction(self) -> Direction {
        match self.part {
            Part::Sends => Direction::SendOnly,
            Part::Receives => Direction::RecvOnly,
            Part::Both => Direction::SendRecv,
        }
    }
}

/// The client offers and the server answers; returns the name of the video.
fn negotiate(client: &mut Rtc, server: &mut Rtc, direction: Direction) -> Result<Option<Mid>, RtcError> {
    let mut change = client.sdp_api();
    let video = change.add_media(MediaKind::Video, direction, None, None, None);
    let Some((offer, pending)) = change.apply() else { return Ok(None) };
    let answer = server.sdp_api().accept_offer(offer)?;
    client.sdp_api().accept_answer(pending, answer)?;
    Ok(Some(video))
}

/// The end, at `now`, with the name of its video. The client begins: it controls ICE, and is the client of DTLS.
///
/// Each end makes the other, too, for the offer and the answer, and lets it go: what is drawn for these is drawn from dice that both have.
pub(super) fn peer(setup: Setup, dice: &mut Dice, now: Instant) -> Result<(Rtc, Mid), RtcError> {
    let mut own = dice.lend(|| alone(setup, now))?;
    let video = Dice::of_both().lend(|| {
        let mut other = alone(setup.other(), now)?;
        match setup.role {
            Role::Client => negotiate(&mut own, &mut other, setup.direction()),
            Role::Server => negotiate(&mut other, &mut own, setup.other().direction()),
        }
    })?;
    own.bwe().set_bitrate(Bitrate::ZERO, bitrate(setup.most));
    Ok((own, video.unwrap_or(Mid::from("0"))))
}

/// How long a call may take to begin: as ICE gives up (RFC 8445 section 14.3 and RFC 5389 section 7.2.1: 39.5 s of retransmissions).
pub(super) const PATIENCE: Span = Span::from_millis(39_500);
