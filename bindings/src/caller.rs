//! The caller of a turn, for languages that run the app's code in the caller's context: Kotlin's coroutines.

use std::sync::Arc;
use stepwell_io::host::Caller;

use crate::agent::Agent;
use crate::error::StepwellError;
use crate::runtime::on_runtime;

/// Returns the id that `Agent.within` got for the turn whose code is being called on this thread, or 0 outside of such
/// a turn. Only code called directly within a callback, before the callback suspends, gets the id.
#[uniffi::export]
#[must_use]
pub fn current_caller() -> u64 {
    Caller::current().unwrap_or_default()
}

#[uniffi::export]
impl Agent {
    /// Returns an agent with the same conversations that begins turns for the caller of this id. All code of the app
    /// that is called for these turns gets the id from `current_caller`. The language's layer chooses the id, which is
    /// not 0.
    pub fn within(&self, caller: u64) -> Arc<Self> {
        self.of_caller(Caller::new(caller))
    }

    /// Cancels the turns begun by an agent that `within` returned, and waits until none of them calls code of the app
    /// any more. Returns `false` if a turn's store still cannot take the turn's last write: that turn keeps trying.
    pub async fn end_turns(&self) -> Result<bool, StepwellError> {
        let caller = self.caller();
        on_runtime(async move {
            Ok(match caller {
                Some(caller) => caller.end().await,
                None => true,
            })
        })
        .await
    }

    /// Cancels the turns of all conversations, unless another agent returned this one. A layer calls it when its user closes
    /// the agent.
    pub fn closing(&self) {
        if self.is_first() {
            self.inner().cancel_all();
        }
    }
}
