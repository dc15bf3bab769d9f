use crate::run::protocol::NEARLY_FULL;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The provider's count of a conversation: the request and the answer of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// The number of tokens.
    pub(crate) tokens: u64,
    /// The index of the first message that may have come since.
    pub(crate) since: usize,
}

/// The size of the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestSize {
    /// The number of tokens.
    pub(crate) tokens: u64,
    /// Whether no provider has counted any part of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_guess: bool,
}

/// The state of the conversation with regard to the model's context window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContextWindow {
    /// The user was warned in this turn.
    told: bool,
    /// The hop's request warns the model.
    warns: bool,
    /// The size of the request, while the conversation is being compacted.
    #[serde(flatten)]
    size: RequestSize,
    /// The number of ways to compact the conversation that this request has used.
    #[serde(default, skip_serializing_if = "crate::zero::is_zero")]
    ways_used: u32,
    /// The host is asked what to leave out since the request does not fit otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_last_resort: bool,
    /// No summary came in this turn: none is asked for again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_without_summary: bool,
    /// The count from the hop before, for other models of the hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

impl ContextWindow {
    pub(crate) fn is_untouched(&self) -> bool {
        *self == Self::default()
    }

    /// Keeps the provider's count from the hop before, for other models of the hop.
    pub(crate) fn keep_count(&mut self, counted: Option<Counted>) {
        self.counted = counted;
    }

    /// Returns the count that was kept.
    pub(crate) fn counted(&self) -> Option<Counted> {
        self.counted
    }

    /// Begins a request, which has no warning yet.
    pub(crate) fn begin_request(&mut self) {
        self.warns = false;
        self.size = RequestSize::default();
        self.ways_used = 0;
        self.is_last_resort = false;
    }

    /// Adds a warning for the model to the hop's request. Returns whether to warn the user too, which happens once a
    /// turn.
    pub(crate) fn warn(&mut self) -> bool {
        self.warns = true;
        !std::mem::replace(&mut self.told, true)
    }

    /// Notes that the host is asked to trim a request of this size, or a model for a summary of it.
    pub(crate) fn wait(&mut self, size: RequestSize, is_last_resort: bool) {
        self.size = size;
        self.is_last_resort = is_last_resort;
    }

    /// Returns the size of the request that waits, and whether it does not fit otherwise. It waits no longer.
    pub(crate) fn take_waiting(&mut self) -> (RequestSize, bool) {
        let is_last_resort = std::mem::take(&mut self.is_last_resort);
        (std::mem::take(&mut self.size), is_last_resort)
    }

    /// Returns the number of tokens of the request that waits.
    pub(crate) fn waiting_tokens(&self) -> u64 {
        self.size.tokens
    }

    /// Returns the index of the next way to compact the conversation, and counts it as used.
    pub(crate) fn next_way(&mut self) -> usize {
        let way = usize::try_from(self.ways_used).unwrap_or(usize::MAX);
        self.ways_used = self.ways_used.saturating_add(1);
        way
    }

    /// Notes that no summary came.
    pub(crate) fn give_summaries_up(&mut self) {
        self.is_without_summary = true;
    }

    /// Returns whether a summary may be asked for.
    pub(crate) fn takes_summaries(&self) -> bool {
        !self.is_without_summary
    }

    /// Returns the text before the conversation: the app's `own` instructions, and the warning.
    pub(crate) fn instructions<'a>(&self, own: Option<&'a str>) -> Option<Cow<'a, str>> {
        if !self.warns {
            return own.map(Cow::Borrowed);
        }
        Some(match own {
            Some(own) => Cow::Owned(format!("{own}\n\n{NEARLY_FULL}")),
            None => Cow::Borrowed(NEARLY_FULL),
        })
    }
}

impl RequestSize {
    /// Returns the size after a compaction, by an estimate before and after. The estimate is assumed to be wrong by the
    /// same factor both times.
    pub(crate) fn scaled(self, before: u64, after: u64) -> Self {
        let tokens = u128::from(self.tokens) * u128::from(after) / u128::from(before.max(1));
        Self {
            tokens: u64::try_from(tokens).unwrap_or(u64::MAX),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_told_once_and_the_model_in_each_hop_that_is_near() {
        let mut window = ContextWindow::default();
        assert!(window.is_untouched());
        assert_eq!(
            window.instructions(Some("Be kind")).as_deref(),
            Some("Be kind")
        );
        assert!(window.warn() && !window.warn());
        let warned = window.instructions(Some("Be kind")).unwrap();
        assert!(warned.starts_with("Be kind\n\n") && warned.ends_with(NEARLY_FULL));
        window.begin_request();
        assert_eq!(window.instructions(None), None);
    }

    #[test]
    fn a_request_waits_with_its_size_and_uses_each_way_once() {
        let size = RequestSize {
            tokens: 1_000,
            is_guess: true,
        };
        let mut window = ContextWindow::default();
        window.wait(size, true);
        assert_eq!((window.next_way(), window.next_way()), (0, 1));
        let stored = serde_json::to_string(&window).unwrap();
        assert_eq!(
            serde_json::from_str::<ContextWindow>(&stored).unwrap(),
            window
        );
        assert_eq!(window.take_waiting(), (size, true));
        window.begin_request();
        assert!(window.is_untouched());
        assert_eq!(size.scaled(500, 100).tokens, 200);
        assert_eq!(size.scaled(0, 1).tokens, 1_000);
    }
}
