use crate::run::protocol::ErrorKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The retries of a hop, as the limits of the retry table count them. A hop that asks again, after an answer that was empty
/// or could not be read, continues the count of the hop before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tries {
    /// The number of retries after each kind of failure.
    by_kind: BTreeMap<ErrorKind, u32>,
    /// The number of retries after a part of the answer was shown.
    #[serde(default, skip_serializing_if = "crate::zero::is_zero")]
    after_text: u32,
    /// The next hop asks again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_asked_next: bool,
}

impl Tries {
    pub(crate) fn is_untouched(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the number of retries after failures of this kind.
    pub(crate) fn after(&self, kind: ErrorKind) -> u32 {
        self.by_kind.get(&kind).copied().unwrap_or(0)
    }

    /// Returns the number of all retries.
    pub(crate) fn count(&self) -> u32 {
        self.by_kind
            .values()
            .fold(0, |all, &some| all.saturating_add(some))
    }

    /// Notes a retry.
    pub(crate) fn note(&mut self, kind: ErrorKind) {
        let tries = self.by_kind.entry(kind).or_default();
        *tries = tries.saturating_add(1);
    }

    /// Returns the number of retries after a part of the answer was shown.
    pub(crate) fn after_text(&self) -> u32 {
        self.after_text
    }

    /// Notes a retry by the next hop after a part of the answer was shown. What it brings is no progress: the answer begins
    /// anew.
    pub(crate) fn note_after_text(&mut self) {
        self.after_text = self.after_text.saturating_add(1);
        self.is_asked_next = true;
    }

    /// Lets the next hop continue the count.
    pub(crate) fn ask_next_hop(&mut self) {
        self.is_asked_next = true;
    }

    /// Begins a hop.
    pub(crate) fn begin_hop(&mut self) {
        if !std::mem::take(&mut self.is_asked_next) {
            self.restart();
            self.after_text = 0;
        }
    }

    /// Counts from the beginning: another model is asked, or the stream has brought something.
    pub(crate) fn restart(&mut self) {
        self.by_kind.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_kind_and_together() {
        let mut tries = Tries::default();
        assert!(tries.is_untouched());
        for kind in [ErrorKind::Timeout, ErrorKind::RateLimit, ErrorKind::Timeout] {
            tries.note(kind);
        }
        assert_eq!(tries.after(ErrorKind::Timeout), 2);
        assert_eq!(tries.after(ErrorKind::Connection), 0);
        assert_eq!(tries.count(), 3);
        tries.restart();
        assert!(tries.is_untouched());
    }

    #[test]
    fn only_a_hop_that_asks_again_continues_the_count() {
        let mut tries = Tries::default();
        tries.note(ErrorKind::OutputInvalid);
        tries.ask_next_hop();
        tries.begin_hop();
        assert_eq!(tries.count(), 1);
        tries.begin_hop();
        assert_eq!(tries.count(), 0);
    }
}
