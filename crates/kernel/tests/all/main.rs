//! Kernels and links between them. Every test ends within seconds: a kernel that hangs is ended.

#![cfg(target_os = "linux")]

mod nodes;
mod programs;
#[path = "../../../../tests/rust/skips.rs"]
mod skips;
mod wire;
