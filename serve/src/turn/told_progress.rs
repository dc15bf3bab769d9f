//! How far running tools say they are, in a log that is kept: of what a call says faster than this, the last is told.

use std::collections::BTreeMap;
use std::time::Duration;
use stepwell_core::ToolCallId;
use stepwell_core::run::ToolProgress;
use tokio::time::Instant;

/// The time between two progresses of a call.
const INTERVAL: Duration = Duration::from_millis(500);

/// What the calls of a turn have said of their progress.
#[derive(Debug, Default)]
pub(crate) struct ToldProgress {
    calls: BTreeMap<ToolCallId, Call>,
}

#[derive(Debug)]
struct Call {
    /// Until then the next one waits.
    until: Instant,
    waiting: Option<ToolProgress>,
}

impl ToldProgress {
    /// What is told now of what a call says: nothing, if it has just said something.
    pub(crate) fn say(&mut self, progress: ToolProgress, now: Instant) -> Option<ToolProgress> {
        let call = self.calls.entry(progress.tool_call_id.clone());
        let call = call.or_insert(Call {
            until: now,
            waiting: None,
        });
        if now < call.until {
            call.waiting = Some(progress);
            return None;
        }
        call.until = now + INTERVAL;
        call.waiting = None;
        Some(progress)
    }

    /// When the next that waits is told.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let waiting = self.calls.values().filter(|call| call.waiting.is_some());
        waiting.map(|call| call.until).min()
    }

    /// What has waited long enough.
    pub(crate) fn due(&mut self, now: Instant) -> Option<ToolProgress> {
        let call = self
            .calls
            .values_mut()
            .find(|call| call.waiting.is_some() && call.until <= now)?;
        call.until = now + INTERVAL;
        call.waiting.take()
    }

    /// The call is over, and what it said of its progress with it.
    pub(crate) fn end(&mut self, call: &ToolCallId) {
        self.calls.remove(call);
    }
}

#[cfg(test)]
mod tests {
    use crate::turn::told_progress::{INTERVAL, ToldProgress};
    use stepwell_core::run::ToolProgress;
    use stepwell_core::{CallKey, ToolCallId};
    use tokio::time::Instant;

    fn progress(call: &str, message: &str) -> ToolProgress {
        ToolProgress {
            call: CallKey { hop: 0, index: 0 },
            tool_call_id: ToolCallId::from(call),
            name: "count".to_owned(),
            fraction: None,
            message: Some(message.to_owned()),
        }
    }

    #[test]
    fn of_what_a_call_says_at_once_the_first_is_told_now_and_the_last_later() {
        let now = Instant::now();
        let mut told = ToldProgress::default();
        assert!(told.say(progress("a", "1"), now).is_some());
        assert!(told.say(progress("a", "2"), now).is_none());
        assert!(told.say(progress("a", "3"), now).is_none());
        assert!(
            told.say(progress("b", "1"), now).is_some(),
            "a call of its own"
        );
        assert_eq!(told.due(now), None);
        let later = now + INTERVAL;
        assert_eq!(told.deadline(), Some(later));
        assert_eq!(told.due(later), Some(progress("a", "3")));
        assert_eq!((told.due(later), told.deadline()), (None, None));
    }

    #[test]
    fn nothing_is_told_of_a_call_that_is_over() {
        let now = Instant::now();
        let mut told = ToldProgress::default();
        told.say(progress("a", "1"), now);
        told.say(progress("a", "2"), now);
        told.end(&ToolCallId::from("a"));
        assert_eq!((told.deadline(), told.due(now + INTERVAL)), (None, None));
    }
}
