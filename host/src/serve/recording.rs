//! The latest journals of turns, in memory, for the inspection of runs.

use crate::settings::Record;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::journal::{Divergence, Journal, JournalError};
use stepwell_core::registry::ThreadKey;
use stepwell_io::RunId;
use stepwell_io::host::JournalSink;
use stepwell_io::store::TurnKey;
use stepwell_serve::parts::Journals;

/// The most bytes of one journal. The rest is not kept.
const LONGEST: usize = 4 << 20;

/// The most bytes of all journals: the oldest make room.
const MOST: usize = 64 << 20;

/// Keeps the journals. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    is_redacted: bool,
    longest: usize,
    most: usize,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    journals: HashMap<TurnKey, Recording>,
    /// In the order in which they were begun.
    order: VecDeque<(TurnKey, u64)>,
    /// Of all of them.
    bytes: usize,
    /// Counts the journals that were begun.
    begun: u64,
}

#[derive(Debug)]
struct Recording {
    number: u64,
    text: String,
    is_full: bool,
}

/// The journal of a turn as it was kept.
#[derive(Debug)]
pub(super) struct Recorded {
    text: String,
    is_redacted: bool,
}

/// Why a journal cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unshown {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Replay(#[from] Box<Divergence>),
}

impl Recorder {
    /// Returns `None` if no journals are kept.
    pub(super) fn new(record: Record) -> Option<Self> {
        (record != Record::Off).then(|| Self {
            is_redacted: record == Record::Redacted,
            longest: LONGEST,
            most: MOST,
            kept: Arc::default(),
        })
    }

    /// Returns the sink for the journal of a turn that is driven here from now on. It replaces an earlier journal of
    /// the turn.
    pub(super) fn record(&self, turn: &TurnKey) -> impl JournalSink {
        let mut kept = self.lock();
        kept.begun += 1;
        let number = kept.begun;
        kept.remove(turn);
        let recording = Recording {
            number,
            text: String::new(),
            is_full: false,
        };
        kept.journals.insert(turn.clone(), recording);
        kept.order.push_back((turn.clone(), number));
        drop(kept);
        let (recorder, turn) = (self.clone(), turn.clone());
        move |_: &RunId, lines: &str| recorder.take(&turn, number, lines)
    }

    fn take(&self, turn: &TurnKey, number: u64, lines: &str) {
        let mut kept = self.lock();
        let recording = kept.journals.get_mut(turn);
        let Some(recording) = recording.filter(|known| known.number == number && !known.is_full)
        else {
            return;
        };
        if recording.text.len() + lines.len() > self.longest {
            recording.is_full = true;
            return;
        }
        recording.text.push_str(lines);
        kept.bytes += lines.len();
        while kept.bytes > self.most {
            let Some((oldest, number)) = kept.order.pop_front() else {
                break;
            };
            if kept
                .journals
                .get(&oldest)
                .is_some_and(|known| known.number == number)
            {
                kept.remove(&oldest);
            }
        }
    }

    /// The journal of a turn, as far as it has come.
    pub(super) fn journal(&self, turn: &TurnKey) -> Option<Recorded> {
        let kept = self.lock();
        let recording = kept.journals.get(turn)?;
        Some(Recorded {
            text: recording.text.clone(),
            is_redacted: self.is_redacted,
        })
    }

    /// The thread is deleted, and its journals with it.
    pub(super) fn forget(&self, thread: &ThreadKey) {
        let mut kept = self.lock();
        let gone = kept.journals.keys().filter(|turn| turn.thread == *thread);
        for turn in gone.cloned().collect::<Vec<_>>() {
            kept.remove(&turn);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing is left half-done under the lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journals for Recorder {
    fn record(&self, turn: &TurnKey) -> Box<dyn JournalSink> {
        Box::new(Self::record(self, turn))
    }
}

impl Kept {
    fn remove(&mut self, turn: &TurnKey) {
        if let Some(recording) = self.journals.remove(turn) {
            self.bytes -= recording.text.len();
            self.order.retain(|(_, number)| *number != recording.number);
        }
    }
}

impl Recorded {
    /// Returns the journal with the requests, the events and the blocks in full, for which it is replayed: that takes a
    /// while for a long one. If the request or the server's settings ask for it, the texts are hidden instead, and each
    /// input has the names of its outputs alone.
    ///
    /// # Errors
    /// It cannot be read, or its replay differs.
    pub(super) fn text(&self, hides_texts: bool) -> Result<String, Unshown> {
        let journal = Journal::parse(&self.text)?;
        if self.is_redacted || hides_texts {
            return Ok(journal.redact());
        }
        Ok(journal.to_full_text()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(longest: usize, most: usize) -> Recorder {
        let recorder = Recorder::new(Record::Full).expect("it records");
        Recorder {
            longest,
            most,
            ..recorder
        }
    }

    fn turn(thread: &str, turn: &str) -> TurnKey {
        TurnKey::new(ThreadKey::from(thread), turn)
    }

    fn write(sink: &impl JournalSink, lines: &str) {
        sink.write(&"run".into(), lines);
    }

    fn text(recorder: &Recorder, turn: &TurnKey) -> Option<String> {
        Some(recorder.journal(turn)?.text)
    }

    #[test]
    fn nothing_is_kept_unless_it_is_asked_for() {
        assert!(Recorder::new(Record::Off).is_none());
    }

    #[test]
    fn the_oldest_journals_make_room() {
        let recorder = recorder(10, 10);
        let turns = ["a", "b", "c"].map(|name| turn("t", name));
        for turn in &turns {
            write(&recorder.record(turn), "1234");
        }
        let kept = turns.each_ref().map(|turn| text(&recorder, turn).is_some());
        assert_eq!(kept, [false, true, true]);
        assert_eq!(recorder.lock().bytes, 8);
    }

    #[test]
    fn a_journal_that_is_too_long_keeps_its_beginning() {
        let recorder = recorder(6, 100);
        let turn = turn("t", "r");
        let sink = recorder.record(&turn);
        for lines in ["1234", "567", "8"] {
            write(&sink, lines);
        }
        assert_eq!(text(&recorder, &turn).as_deref(), Some("1234"));
    }

    #[test]
    fn a_turn_that_is_driven_anew_has_a_journal_of_its_own() {
        let recorder = recorder(100, 100);
        let turn = turn("t", "r");
        let before = recorder.record(&turn);
        write(&before, "before");
        let now = recorder.record(&turn);
        write(&before, "late");
        write(&now, "now");
        assert_eq!(text(&recorder, &turn).as_deref(), Some("now"));
        assert_eq!(recorder.lock().bytes, 3);
        assert_eq!(recorder.lock().order.len(), 1);
    }

    #[test]
    fn deleted_journals_are_forgotten() {
        let recorder = recorder(100, 100);
        let (gone, other) = (turn("t", "r"), turn("u", "r"));
        let sink = recorder.record(&gone);
        write(&sink, "gone");
        write(&recorder.record(&other), "other");
        recorder.forget(&gone.thread);
        write(&sink, "late");
        assert_eq!(text(&recorder, &gone), None);
        assert_eq!(text(&recorder, &other).as_deref(), Some("other"));
    }
}
