//! Whether a run has readers, and how long it continues without them.

use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The readers of a run.
#[derive(Debug)]
pub(crate) struct Reading {
    readers: watch::Receiver<usize>,
    /// How long the run continues without readers; without limit if absent.
    linger: Option<Duration>,
    /// Since when it has none.
    unread_since: Option<Instant>,
    /// Whether the first reader may be about to come.
    is_new: bool,
}

/// How long a run waits at least for its first reader.
const FIRST_READER: Duration = Duration::from_secs(30);

impl Reading {
    /// The readers of a run that begins, or is taken over: one may be about to come.
    pub(crate) fn new(readers: watch::Receiver<usize>, linger: Option<Duration>) -> Self {
        Self {
            readers,
            linger,
            unread_since: Some(Instant::now()),
            is_new: true,
        }
    }

    /// Begins a run, which may be left unread for this time.
    pub(crate) fn begin(&mut self, linger: Option<Duration>) {
        self.linger = linger;
        self.unread_since = Some(Instant::now());
        self.is_new = true;
    }

    /// Waits until a reader comes or goes.
    pub(crate) async fn changed(&mut self) {
        if self.readers.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        let readers = *self.readers.borrow_and_update();
        self.unread_since = match readers {
            0 => Some(Instant::now()),
            _ => None,
        };
        self.is_new = false;
    }

    /// Returns when a turn that waits for nothing but a run gives up: the client that was to bring the run has failed.
    pub(crate) fn gives_up(&self) -> Option<Instant> {
        let linger = self.linger.unwrap_or(FIRST_READER).max(FIRST_READER);
        self.unread_since?.checked_add(linger)
    }

    /// Returns when the run has been without readers for long enough.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let linger = self.linger?;
        let linger = match self.is_new {
            true => linger.max(FIRST_READER),
            false => linger,
        };
        self.unread_since?.checked_add(linger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_without_readers_continues_for_the_linger_time() {
        let second = Duration::from_secs(1);
        let (readers, reading) = watch::channel(0);
        let mut reading = Reading::new(reading, Some(second * 30));
        let begin = Instant::now();
        assert_eq!(reading.deadline(), Some(begin + second * 30));
        readers.send_replace(1);
        reading.changed().await;
        assert_eq!(reading.deadline(), None);
        tokio::time::advance(second * 50).await;
        readers.send_replace(0);
        reading.changed().await;
        assert_eq!(reading.deadline(), Some(begin + second * 80));
        reading.begin(None);
        assert_eq!(reading.deadline(), None);
    }
}
