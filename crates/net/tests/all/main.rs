//! The integration tests of the crate, in one program: each program links everything anew.

mod bianchi;
mod cell_law;
mod disciplines;
mod hub;
mod interface_law;
mod link_law;
mod lte_law;
mod middlebox_law;
mod queues;
mod two_clocks;
