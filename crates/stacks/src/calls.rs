//! RTP over QUIC on a stack: the model's call ([`roq::Call`]) above the endpoint of the stack's connection, with packets of real bytes.
//!
//! A stack's buffer of DATAGRAM frames may be full. What it does not take waits here, in order, and so does what a stream does not take:
//! nothing is dropped for a buffer's sake.

use crate::addresses::Addresses;
use crate::config::{Config, Error, OverQuic};
use crate::connection::{CarriesCalls, StackConnection};
use crate::endpoint::{Parts, StackEndpoint};
use crate::handles::Handles;
use bytes::Bytes;
use haltere_net::{Cx, Ecn, Packet, PathId, Time};
use haltere_transport::media::Frame;
use haltere_transport::roq::{self, Call, Carrier, wire};
use haltere_transport::rtp::{self, wire::LEAST_PAYLOAD, wire::Reader};
use haltere_transport::{Body, CloseReason, Endpoint, Event, Stats, StreamId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The data of a DATAGRAM frame that every path carries: the least UDP payload of 1200 bytes without a short header with an identifier of
/// eight bytes and a packet number of four, the tag, and nine bytes that quinn and noq reserve for type and length (quinn-proto,
/// datagrams.rs: `max_size`).
const DATAGRAM: u32 = 1200 - (1 + 8 + 4 + 16) - 9;

/// The endpoint of a call above the connection that an adapter makes.
pub(crate) fn around<M: StackConnection + CarriesCalls + 'static>(
    config: Config,
    handles: Handles,
    parts: fn(Config, Handles) -> Result<Parts<M>, Error>,
) -> Result<Box<dyn Endpoint>, Error> {
    let Some(OverQuic { media, mapping }) = config.over_quic.clone() else {
        return Err(Error::new("the connection has no call: give the configuration one"));
    };
    let secrets = handles.secrets.clone();
    let addresses = Addresses::new(config.addresses.clone()).map_err(Error::new)?;
    Ok(Box::new(End {
        quic: StackEndpoint::new(parts(config, handles)?, addresses, secrets),
        call: Call::new(roq::fitted(media, DATAGRAM), mapping),
        reader: Reader::default(),
        waiting: Waiting::default(),
        incoming: BTreeMap::new(),
        buffer: Vec::new(),
    }))
}

/// One end of a call.
struct End<M> {
    quic: StackEndpoint<M>,
    call: Call,
    reader: Reader,
    waiting: Waiting,
    /// The streams that the peer writes.
    incoming: BTreeMap<u64, wire::Incoming>,
    buffer: Vec<u8>,
}

/// Bytes that wait for room in the stack's buffers.
#[derive(Default)]
struct Waiting {
    datagrams: VecDeque<Bytes>,
    /// Of each stream that was not ended or has bytes left.
    streams: BTreeMap<u64, Stream>,
}

/// A stream that is written.
#[derive(Default)]
struct Stream {
    bytes: VecDeque<Bytes>,
    ended: bool,
}

impl Waiting {
    /// Gives the stack what it takes.
    fn pass_on(&mut self, stack: &mut impl CarriesCalls) {
        while let Some(data) = self.datagrams.pop_front() {
            if let Err(back) = stack.send_datagram(data) {
                self.datagrams.push_front(back);
                break;
            }
        }
        self.streams.retain(|id, stream| {
            while let Some(bytes) = stream.bytes.pop_front() {
                let rest = stack.write_bytes(*id, bytes);
                if !rest.is_empty() {
                    stream.bytes.push_front(rest);
                    return true;
                }
            }
            if stream.ended {
                stack.end_one_way(*id);
            }
            !stream.ended
        });
    }
}

/// The stack's connection as it carries a call.
struct Below<'a, M> {
    stack: &'a mut M,
    waiting: &'a mut Waiting,
    reader: &'a mut Reader,
}

impl<M> Below<'_, M> {
    /// Notes a packet of which reports will tell.
    fn note(&mut self, packet: &rtp::Packet) {
        if let rtp::Packet::Media(media) = packet {
            self.reader.on_sent(media);
        }
    }
}

impl<M: CarriesCalls> Carrier for Below<'_, M> {
    fn max_datagram(&mut self) -> u32 {
        u32::try_from(self.stack.max_datagram()).unwrap_or(u32::MAX)
    }

    fn length(&self, packet: &rtp::Packet) -> u32 {
        u32::try_from(rtp::wire::write(packet).len()).unwrap_or(u32::MAX)
    }

    fn send_datagram(&mut self, packet: rtp::Packet) {
        self.note(&packet);
        self.waiting.datagrams.push_back(wire::datagram(&packet).into());
    }

    fn open(&mut self) -> Option<StreamId> {
        let id = self.stack.open_one_way()?;
        let begun = Stream { bytes: VecDeque::from([wire::beginning().into()]), ended: false };
        self.waiting.streams.insert(id, begun);
        Some(StreamId(id))
    }

    fn write(&mut self, stream: StreamId, packet: Arc<rtp::Packet>) {
        self.note(&packet);
        let bytes = wire::on_stream(&packet).into();
        self.waiting.streams.entry(stream.0).or_default().bytes.push_back(bytes);
    }

    fn finish(&mut self, stream: StreamId) {
        self.waiting.streams.entry(stream.0).or_default().ended = true;
    }
}

impl<M: StackConnection + CarriesCalls> End<M> {
    /// Takes what the stack has got; `ecn` is the mark of the packet that brought it.
    fn take(&mut self, ecn: Ecn, cx: &mut Cx<'_>) {
        let mut readable = Vec::new();
        while let Some(event) = self.quic.poll_event() {
            match event {
                Event::Connected => self.call.open(self.quic.rtt(), cx.now),
                Event::Readable(StreamId(id)) => readable.push(id),
                // A call has no end of its own: the peer is silent.
                Event::Closed => self.call.fail(CloseReason::IdleTimeout),
                Event::Failed(reason) => self.call.fail(reason),
                _ => {}
            }
        }
        while let Some(id) = self.quic.connection().accept_one_way() {
            self.incoming.insert(id, wire::Incoming::default());
            readable.push(id);
        }
        readable.into_iter().for_each(|id| self.read(id, ecn, cx));
        while let Some(data) = self.quic.connection().next_datagram() {
            if let Some(packet) = wire::of_datagram(&data, &mut self.reader) {
                self.call.on_packet(&packet, ecn, cx);
            }
        }
    }

    /// Reads a stream of the peer.
    fn read(&mut self, id: u64, ecn: Ecn, cx: &mut Cx<'_>) {
        let Some(incoming) = self.incoming.get_mut(&id) else { return };
        self.buffer.clear();
        let ended = self.quic.connection().read_bytes(id, &mut self.buffer);
        for packet in incoming.take(&self.buffer, &mut self.reader) {
            self.call.on_packet(&packet, ecn, cx);
        }
        if ended {
            self.incoming.remove(&id);
        }
    }
}

impl<M: StackConnection + CarriesCalls> Endpoint for End<M> {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.quic.connect(cx);
    }

    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        let ecn = packet.ecn;
        self.quic.on_packet(packet, cx);
        self.take(ecn, cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.quic.on_wake(cx);
        self.take(Ecn::NotEct, cx);
        self.call.on_wake(cx.now);
    }

    fn next_wake(&self) -> Time {
        self.quic.next_wake().min(self.call.next_wake())
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let End { quic, call, reader, waiting, .. } = self;
        let stack = quic.connection();
        call.hand_over(&mut Below { stack, waiting, reader }, cx);
        waiting.pass_on(quic.connection());
        quic.poll_transmit(cx)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.call.poll_event()
    }

    fn send_frame(&mut self, frame: Frame, cx: &mut Cx<'_>) -> bool {
        // Each part has room for its description.
        let bytes = frame.bytes.max(LEAST_PAYLOAD);
        self.call.send_frame(Frame { bytes, ..frame }, cx.now);
        true
    }

    fn want_key_frame(&mut self) {
        self.call.want_key_frame();
    }

    fn take_secrets(&mut self) -> String {
        self.quic.take_secrets()
    }

    fn stats(&self) -> Stats {
        let mut quic = self.quic.stats();
        if self.call.in_datagrams() {
            // The stack sends no DATAGRAM frame again.
            quic.retransmitted_packets = 0;
        }
        self.call.stats(quic)
    }

    fn paths(&self) -> usize {
        self.quic.paths()
    }

    fn bytes_in_flight(&self, path: PathId) -> u64 {
        self.quic.bytes_in_flight(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_transport::rtp::{Packet, Report};

    /// A stack whose buffers have room for so many bytes, and what it took.
    #[derive(Default)]
    struct Full {
        room: usize,
        datagrams: Vec<Bytes>,
        stream: Vec<u8>,
        ended: bool,
    }

    impl CarriesCalls for Full {
        fn max_datagram(&mut self) -> usize {
            1200
        }
        fn send_datagram(&mut self, data: Bytes) -> Result<(), Bytes> {
            if data.len() > self.room {
                return Err(data);
            }
            self.room -= data.len();
            self.datagrams.push(data);
            Ok(())
        }
        fn next_datagram(&mut self) -> Option<Bytes> {
            None
        }
        fn open_one_way(&mut self) -> Option<u64> {
            Some(2)
        }
        fn accept_one_way(&mut self) -> Option<u64> {
            None
        }
        fn write_bytes(&mut self, _: u64, mut bytes: Bytes) -> Bytes {
            assert!(!self.ended);
            let taken = bytes.split_to(self.room.min(bytes.len()));
            self.room -= taken.len();
            self.stream.extend_from_slice(&taken);
            bytes
        }
        fn end_one_way(&mut self, _: u64) {
            self.ended = true;
        }
        fn read_bytes(&mut self, _: u64, _: &mut Vec<u8>) -> bool {
            true
        }
    }

    #[test]
    fn what_a_full_buffer_does_not_take_waits_in_order() {
        let packets: Vec<Packet> =
            (1..20).map(|n| Packet::Reports(vec![Report::Missing((0..n * 20).collect())])).collect();
        let (mut stack, mut waiting, mut reader) = (Full::default(), Waiting::default(), Reader::default());
        let mut below = Below { stack: &mut stack, waiting: &mut waiting, reader: &mut reader };
        let stream = below.open().unwrap();
        for packet in &packets {
            below.send_datagram(packet.clone());
            below.write(stream, Arc::new(packet.clone()));
        }
        below.finish(stream);
        for _ in 0..10_000 {
            assert_eq!(stack.ended, waiting.streams.is_empty());
            stack.room += 50;
            waiting.pass_on(&mut stack);
        }
        let whole: Vec<Bytes> = packets.iter().map(|packet| wire::datagram(packet).into()).collect();
        assert!(stack.datagrams == whole && waiting.datagrams.is_empty() && waiting.streams.is_empty());
        let bytes = packets.iter().fold(wire::beginning(), |mut bytes, packet| {
            bytes.extend(wire::on_stream(packet));
            bytes
        });
        assert!(stack.stream == bytes && stack.ended);
    }
}
