//! Parts of loss recovery that all transports share: delivery-rate samples, windowed filters, pacing, PRR.

mod bucket;
pub mod burst;
pub mod filter;
pub mod pacer;
pub mod prr;
pub mod rate;
mod reported;

pub use bucket::{Depth, Flow, TokenBucket};
pub use burst::BurstPacer;
pub use filter::{Windowed, WindowedMax, WindowedMin};
pub use pacer::Pacer;
pub use prr::Prr;
pub use rate::{RateSample, RateSampler, TxState};
pub use reported::{Reported, report_model};
