//! The ends of turns whose hosts died before they could report them.

use super::Driver;
use crate::engine::{EngineError, TELLING_TIME};
use crate::turn::lost_end;
use stepwell_io::store::{ThreadQuery, TurnKey};

/// The number of threads, those that were used last, whose latest turn's log is completed at the start.
const COMPLETED_THREADS: usize = 200;

impl Driver {
    /// Completes the logs of the latest turns whose hosts died before they could report the end.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn complete_logs(&self) -> Result<(), EngineError> {
        let store = self.store();
        let query = ThreadQuery {
            server: None,
            room: None,
            after: None,
            limit: COMPLETED_THREADS,
        };
        let threads = store.threads(&query).await?.into_iter();
        let over = threads.filter(|thread| thread.unfinished.is_none());
        let turns = over.filter_map(|thread| Some(TurnKey::new(thread.key, thread.latest?)));
        let mut cut = Vec::new();
        for turn in turns {
            if !lost_end::is_told(store, &turn).await? {
                cut.push(turn);
            }
        }
        if !cut.is_empty() {
            // Another host may be about to report the ends.
            tokio::time::sleep(TELLING_TIME).await;
        }
        for turn in cut {
            if !lost_end::is_told(store, &turn).await? {
                self.tell_end(&turn).await?;
            }
        }
        Ok(())
    }

    /// Completes the log of a turn that is over.
    pub(crate) async fn tell_end(&self, turn: &TurnKey) -> Result<(), EngineError> {
        if self.find(turn).is_none() {
            lost_end::tell(self.setup(), turn, self.0.leave.clone()).await?;
        }
        Ok(())
    }
}
