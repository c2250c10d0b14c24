//! The integration tests of the crate, in one program: each program links everything anew.

#[macro_use]
mod trace;
mod cc_coupled;
mod cc_loss_based;
mod cc_newreno;
mod cc_table;
mod common;
mod ecn;
mod hostile;
mod mptcp;
mod paths_in_reserve;
mod quic_handshake;
mod quic_migration;
mod quic_multipath;
mod quic_noq;
mod quic_opening;
mod quic_properties;
mod quic_quiche;
mod quic_robustness;
mod quic_transfers;
mod registered_outside;
mod schedulers;
mod tcp_handshake;
mod tcp_misbehaving;
mod tcp_opening;
mod tcp_properties;
mod tcp_receive;
mod tcp_recovery;
