//! Where code that was loaded says that it failed.

use std::sync::{Arc, OnceLock};

/// The first failure of loaded code in a run. All that a run makes of such code has a clone of one handle. The run ends as
/// failed after the turn in which something was raised.
#[derive(Clone, Default, Debug)]
pub struct Faults(Arc<OnceLock<String>>);

impl Faults {
    /// Notes a failure, in a sentence that names the code and says what is wrong. Only the first one is kept.
    pub fn raise(&self, message: String) {
        self.0.get_or_init(|| message);
    }

    /// The failure, if there is one.
    #[inline]
    pub fn raised(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_kept_and_seen_by_all() {
        let (first, second) = (Faults::default(), Faults::default());
        let clone = first.clone();
        assert_eq!(first.raised(), None);
        clone.raise("one".into());
        first.raise("two".into());
        assert_eq!((first.raised(), clone.raised(), second.raised()), (Some("one"), Some("one"), None));
    }
}
