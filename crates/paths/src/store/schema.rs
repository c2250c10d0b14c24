//! The columns of a lake's files, and how each is stored.

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};
use std::sync::Arc;

/// One row for each trace. The annotations are those by which readers recognise unsigned numbers, text and instants
/// (Parquet's LogicalTypes.md); lists have the three levels that its section "Lists" asks for.
const COLUMNS: &str = "message trace {
    required int64 key (INTEGER(64, false));
    required binary monitor (STRING);
    optional binary src;
    optional binary dst;
    optional int64 start (TIMESTAMP(MICROS, true));
    required binary method (STRING);
    required binary stop (STRING);
    required binary class (STRING);
    required boolean complete;
    required boolean toolong;
    required boolean loop;
    required boolean gap;
    required boolean adjdup;
    required boolean multi;
    required int32 hops (INTEGER(8, false));
    optional int32 rtt_us (INTEGER(32, false));
    required int32 list_id (INTEGER(32, false));
    required int32 cycle_id (INTEGER(32, false));
    required group hop_ttl (LIST) { repeated group list { required int32 element (INTEGER(8, false)); } }
    required group hop_addr (LIST) { repeated group list { required binary element; } }
    required group hop_rtt_us (LIST) { repeated group list { optional int32 element (INTEGER(32, false)); } }
    optional int32 sport (INTEGER(16, false));
    optional int32 dport (INTEGER(16, false));
    required group hop_icmp_type (LIST) { repeated group list { optional int32 element (INTEGER(8, false)); } }
    required group hop_icmp_code (LIST) { repeated group list { optional int32 element (INTEGER(8, false)); } }
    required group hop_reply_ttl (LIST) { repeated group list { optional int32 element (INTEGER(8, false)); } }
    required group mpls_hop (LIST) { repeated group list { required int32 element (INTEGER(16, false)); } }
    required group mpls_label (LIST) { repeated group list { required int32 element (INTEGER(32, false)); } }
    required group mpls_ttl (LIST) { repeated group list { required int32 element (INTEGER(8, false)); } }
}";

/// One row for each link that a multipath measurement found.
const LINKS: &str = "message link {
    required int64 key (INTEGER(64, false));
    required binary monitor (STRING);
    optional binary src;
    required binary dst;
    optional int64 start (TIMESTAMP(MICROS, true));
    required binary method (STRING);
    optional int32 sport (INTEGER(16, false));
    optional int32 dport (INTEGER(16, false));
    optional int32 confidence (INTEGER(8, false));
    required int32 ttl (INTEGER(8, false));
    required binary near;
    required binary far;
    required int32 flows (INTEGER(32, false));
    optional int32 rtt_us (INTEGER(32, false));
}";

/// The schema of every file of traces.
pub(super) fn columns() -> Result<TypePtr> {
    parse_message_type(COLUMNS).map(Arc::new)
}

/// The schema of every file of multipath links.
pub(super) fn links() -> Result<TypePtr> {
    parse_message_type(LINKS).map(Arc::new)
}

/// How columns are stored. A dictionary pays where values repeat; nearly all addresses and delays differ.
pub(super) fn properties() -> Result<WriterPropertiesPtr> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    let plain = |encoding| (false, encoding);
    let column = |names: &[&str]| ColumnPath::new(names.iter().map(|&n| n.to_owned()).collect());
    for (path, (dictionary, encoding)) in [
        (column(&["key"]), plain(Encoding::PLAIN)),
        (column(&["start"]), plain(Encoding::DELTA_BINARY_PACKED)),
        (column(&["dst"]), plain(Encoding::DELTA_LENGTH_BYTE_ARRAY)),
        (column(&["rtt_us"]), plain(Encoding::PLAIN)),
        (column(&["hop_ttl", "list", "element"]), plain(Encoding::DELTA_BINARY_PACKED)),
        (column(&["hop_addr", "list", "element"]), plain(Encoding::DELTA_LENGTH_BYTE_ARRAY)),
        (column(&["hop_rtt_us", "list", "element"]), plain(Encoding::DELTA_BINARY_PACKED)),
    ] {
        properties =
            properties.set_column_dictionary_enabled(path.clone(), dictionary).set_column_encoding(path, encoding);
    }
    Ok(Arc::new(properties.build()))
}
