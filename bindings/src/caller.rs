//! Where turns are begun, for languages whose code belongs there: Kotlin's coroutines.

use std::sync::Arc;
use stepwell_io::Caller;

use crate::agent::Agent;
use crate::error::StepwellError;
use crate::runtime::on_runtime;

/// Returns the id that `Agent.within` was given for the turn whose code is called on this thread now; 0 outside of such a
/// turn. Only a call from within a callback, before that suspends, finds it.
#[uniffi::export]
#[must_use]
pub fn current_caller() -> u64 {
    Caller::current().unwrap_or_default()
}

#[uniffi::export]
impl Agent {
    /// The same conversations, whose turns are begun for the caller of this id: all of the app's code that is called for them
    /// finds it by `current_caller`. The id is the layer's own choice, and not 0.
    pub fn within(&self, caller: u64) -> Arc<Self> {
        Arc::new(self.of_caller(Caller::new(caller)))
    }

    /// Cancels the turns that were begun by an agent that `within` gave, and waits until they are over: none of them calls
    /// code of the app any more. Returns `false` if a turn's store keeps its last write waiting: that turn goes on trying.
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

    /// Cancels the turns of all threads, if this is the agent that was made, and not one that another one gave. A layer
    /// calls it when its user closes the agent.
    pub fn closing(&self) {
        if self.is_first() {
            self.inner().cancel_all();
        }
    }
}
