//! The readers of a run. A run without readers continues only for a while, so its host is notified of readers at other hosts.

use crate::engine::Driver;
use std::time::Duration;
use stepwell_io::store::TurnKey;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// A reader of a turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    _watch: AbortOnDropHandle<()>,
}

/// A reader that counts at the turn, which is driven here.
struct Counted {
    readers: watch::Sender<usize>,
    ended: CancellationToken,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.readers.send_modify(|readers| *readers -= 1);
    }
}

impl Driver {
    /// Counts a reader of a turn, wherever it is driven; `None` where runs do not end for want of readers.
    pub(crate) fn reader(&self, turn: &TurnKey) -> Option<Reader> {
        let beat = self.setup().linger? / 2;
        let counted = self.count_reader(turn);
        let watch = self.clone().keep_reading(turn.clone(), counted, beat);
        Some(Reader {
            _watch: AbortOnDropHandle::new(tokio::spawn(watch)),
        })
    }

    fn count_reader(&self, turn: &TurnKey) -> Option<Counted> {
        let active = self.find(turn)?;
        active.readers.send_modify(|readers| *readers += 1);
        Some(Counted {
            readers: active.readers,
            ended: active.ended,
        })
    }

    async fn keep_reading(self, turn: TurnKey, mut counted: Option<Counted>, beat: Duration) {
        loop {
            if let Some(counted) = counted.take() {
                counted.ended.cancelled().await;
            }
            match self.say_read(&turn).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::debug!(target: "stepwell", %turn, %error, "the host of a turn does not hear that it is read");
                }
            }
            tokio::time::sleep(beat).await;
            counted = self.count_reader(&turn);
        }
    }
}
