//! The part of the qlog schema that is written: version 0.3 (draft-ietf-quic-qlog-main-schema-02 with
//! draft-ietf-quic-qlog-quic-events-01), which public readers and production stacks support.
//!
//! Times are in milliseconds, sizes in bytes, rates in bit/s.

use serde::Serialize;

/// The version and the format: JSON text sequences (RFC 7464).
pub(super) const VERSION: &str = "0.3";
pub(super) const FORMAT: &str = "JSON-SEQ";

/// A file's first record.
#[derive(Serialize)]
pub(super) struct FileHeader<'a> {
    pub qlog_version: &'static str,
    pub qlog_format: &'static str,
    pub title: String,
    pub description: String,
    pub trace: TraceHeader<'a>,
}

#[derive(Serialize)]
pub(super) struct TraceHeader<'a> {
    pub vantage_point: VantagePoint<'a>,
    pub configuration: Configuration,
    pub common_fields: CommonFields<'a>,
}

#[derive(Serialize)]
pub(super) struct VantagePoint<'a> {
    pub name: &'a str,
    #[serde(rename = "type")]
    pub kind: &'static str,
}

#[derive(Serialize)]
pub(super) struct Configuration {
    pub time_offset: f64,
}

#[derive(Serialize)]
pub(super) struct CommonFields<'a> {
    pub group_id: &'a str,
    pub protocol_type: [&'static str; 1],
    pub reference_time: f64,
    pub time_format: &'static str,
}

/// An event's record.
#[derive(Serialize)]
pub(super) struct Event<D> {
    pub time: f64,
    pub name: &'static str,
    pub data: D,
}

#[derive(Serialize)]
pub(super) struct ConnectionStarted {
    pub ip_version: &'static str,
    pub src_ip: String,
    pub dst_ip: String,
    pub protocol: &'static str,
    pub src_port: u16,
    pub dst_port: u16,
}

#[derive(Serialize)]
pub(super) struct ConnectionState {
    pub new: &'static str,
}

#[derive(Serialize)]
pub(super) struct MigrationState {
    pub new: &'static str,
    pub path: u8,
}

#[derive(Serialize)]
pub(super) struct ConnectionClosed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub trigger: &'static str,
}

#[derive(Serialize)]
pub(super) struct ParametersSet {
    pub owner: &'static str,
    pub max_idle_timeout: u64,
    pub max_udp_payload_size: u16,
    pub ack_delay_exponent: u16,
    pub max_ack_delay: u64,
    pub initial_max_data: u64,
    pub initial_max_stream_data_bidi_local: u64,
    pub initial_max_stream_data_bidi_remote: u64,
    pub initial_max_streams_bidi: u64,
    /// Readers require it, although it is empty.
    pub unknown_parameters: [u8; 0],
}

/// The offers of a SYN. The schema has nothing for them, so this is TCP's counterpart of transport parameters.
#[derive(Serialize)]
pub(super) struct TcpParametersSet {
    pub owner: &'static str,
    pub unknown_parameters: [u8; 0],
    pub tcp: TcpParameters,
}

#[derive(Serialize)]
pub(super) struct TcpParameters {
    pub mss: u16,
    pub window_scale: u8,
    pub timestamps: bool,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct Header {
    pub packet_type: &'static str,
    pub packet_number: u64,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct Raw {
    pub length: u32,
    pub payload_length: u32,
}

/// An event about a packet that was sent, received, buffered or dropped.
#[derive(Clone, Serialize)]
pub(super) struct Packet {
    pub header: Header,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_coalesced: bool,
    pub raw: Raw,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<&'static str>,
    /// The fields of TCP's header. They are not in the schema, which allows extra fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpHeader>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Vec<Frame>>,
}

#[derive(Clone, Serialize)]
pub(super) struct TcpHeader {
    /// Which of the connections of its process it belongs to, counted from 0, if it is not the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    pub flags: String,
    pub seq: u64,
    pub ack: u64,
    pub window: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sack: Vec<(u64, u64)>,
    pub timestamp: u32,
    pub echo: u32,
}

/// Frames; ranges include both ends.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "frame_type", rename_all = "snake_case")]
pub(super) enum Frame {
    Padding {
        length: u32,
        payload_length: u32,
    },
    Ping,
    Ack {
        ack_delay: f64,
        acked_ranges: Vec<(u64, u64)>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ect0: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ect1: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ce: Option<u64>,
    },
    Crypto {
        offset: u64,
        length: u64,
    },
    Stream {
        stream_id: u64,
        offset: u64,
        length: u64,
        fin: bool,
    },
    MaxData {
        maximum: u64,
    },
    MaxStreamData {
        stream_id: u64,
        maximum: u64,
    },
    MaxStreams {
        stream_type: &'static str,
        maximum: u64,
    },
    DataBlocked {
        limit: u64,
    },
    StreamDataBlocked {
        stream_id: u64,
        limit: u64,
    },
    StreamsBlocked {
        stream_type: &'static str,
        limit: u64,
    },
    HandshakeDone,
    /// A frame of an extension that is not in the schema.
    Unknown {
        raw_frame_type: u64,
    },
    ConnectionClose {
        error_space: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_code: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'static str>,
    },
}

/// An event about a datagram of a production stack.
#[derive(Serialize)]
pub(super) struct Datagrams {
    pub count: u16,
    pub raw: [Raw; 1],
}

#[derive(Serialize)]
pub(super) struct PacketLost {
    pub header: Header,
    pub trigger: &'static str,
}

/// The metrics that changed at one instant.
#[derive(Clone, Copy, Default, Serialize)]
pub(super) struct MetricsUpdated {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_variance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssthresh: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_rate: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct CongestionStateUpdated {
    pub old: &'static str,
    pub new: &'static str,
}

#[derive(Serialize)]
pub(super) struct LossTimerUpdated {
    pub timer_type: &'static str,
    pub event_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
}
