//! The caller that began a turn, for bindings of other languages whose code belongs to it.

use crate::base::lock;
use crate::durable::StoreTrouble;
use crate::turn::current::CurrentTurn;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;

tokio::task_local! {
    static CALLER: Caller;
}

/// A caller that begins turns: a coroutine of another language, say. The app's code that is called for these turns, on
/// any task or thread, finds the caller by [`Caller::current`].
#[derive(Clone)]
pub struct Caller {
    id: u64,
    turns: Arc<Mutex<Vec<BegunTurn>>>,
}

/// A turn that the caller began.
struct BegunTurn {
    current: CurrentTurn,
    trouble: StoreTrouble,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Caller").field(&self.id).finish()
    }
}

impl Caller {
    /// Returns a caller that has begun no turn. The layer that makes it chooses the id.
    #[must_use]
    pub fn new(id: u64) -> Self {
        Self {
            id,
            turns: Arc::default(),
        }
    }

    /// Returns the id of the caller whose turn the calling code runs for; `None` outside of such a turn.
    #[must_use]
    pub fn current() -> Option<u64> {
        CALLER.try_with(|caller| caller.id).ok()
    }

    /// Runs a function that begins turns for this caller.
    pub fn begin<T>(&self, begin: impl FnOnce() -> T) -> T {
        CALLER.sync_scope(self.clone(), begin)
    }

    /// Runs a future that begins turns for this caller.
    pub async fn scope<F: Future>(&self, work: F) -> F::Output {
        CALLER.scope(self.clone(), work).await
    }

    /// Cancels the caller's turns, and waits until they are over: none of them calls code of the app any more. Returns
    /// `false` if a turn's store keeps its last write waiting: that turn keeps trying.
    pub async fn end(&self) -> bool {
        let turns = std::mem::take(&mut *lock(&self.turns));
        for turn in &turns {
            turn.current.cancel.cancel();
        }
        let mut all = true;
        for turn in turns {
            let mut trouble = turn.trouble.subscribe();
            all &= tokio::select! {
                biased;
                () = turn.current.ended.cancelled() => true,
                Ok(_) = trouble.wait_for(Option::is_some) => false,
            };
        }
        all
    }

    /// Records a turn that begins now, if a caller begins it.
    pub(crate) fn note(current: &CurrentTurn, trouble: &StoreTrouble) {
        let begun = || BegunTurn {
            current: current.clone(),
            trouble: trouble.clone(),
        };
        // Outside of a caller nothing is recorded.
        let _ = CALLER.try_with(|caller| {
            let mut turns = lock(&caller.turns);
            turns.retain(|turn| !turn.current.ended.is_cancelled());
            turns.push(begun());
        });
    }
}

/// Spawns a task for the caller of the current task.
pub(crate) fn spawn<F>(work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    match CALLER.try_with(Clone::clone) {
        Ok(caller) => tokio::spawn(CALLER.scope(caller, work)),
        Err(_) => tokio::spawn(work),
    }
}

#[cfg(test)]
mod tests {
    use super::{Caller, spawn};

    #[tokio::test]
    async fn tasks_inherit_their_caller() {
        assert_eq!(Caller::current(), None);
        let nested =
            Caller::new(7).begin(|| spawn(async { spawn(async { Caller::current() }).await }));
        assert_eq!(nested.await.expect("a task").expect("a task"), Some(7));
        assert_eq!(
            spawn(async { Caller::current() }).await.expect("a task"),
            None
        );
    }
}
