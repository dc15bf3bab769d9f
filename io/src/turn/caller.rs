//! Where a turn was begun, for layers of other languages whose code belongs there.

use crate::base::lock;
use crate::durable::Trouble;
use crate::turn::current::Current;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;

tokio::task_local! {
    static CALLER: Caller;
}

/// Where turns are begun: a coroutine of another language, say. All of the app's code that is called for these turns, on
/// whichever task or thread, finds the caller by [`Caller::current`].
#[derive(Clone)]
pub struct Caller {
    id: u64,
    turns: Arc<Mutex<Vec<Begun>>>,
}

/// A turn that the caller began.
struct Begun {
    current: Current,
    trouble: Trouble,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Caller").field(&self.id).finish()
    }
}

impl Caller {
    /// A caller that has begun nothing. The layer that makes it chooses the id.
    #[must_use]
    pub fn new(id: u64) -> Self {
        Self {
            id,
            turns: Arc::default(),
        }
    }

    /// Returns the id of the caller whose turn the calling code runs for; nothing outside of such a turn.
    #[must_use]
    pub fn current() -> Option<u64> {
        CALLER.try_with(|caller| caller.id).ok()
    }

    /// Runs a function that begins turns for this caller.
    pub fn begin<T>(&self, begin: impl FnOnce() -> T) -> T {
        CALLER.sync_scope(self.clone(), begin)
    }

    /// Does work that begins turns for this caller.
    pub async fn scope<F: Future>(&self, work: F) -> F::Output {
        CALLER.scope(self.clone(), work).await
    }

    /// Cancels the caller's turns, and waits until they are over: none of them calls code of the app any more. Returns
    /// `false` if a turn's store keeps its last write waiting: that turn goes on trying.
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

    /// Takes note of a turn that begins now.
    pub(crate) fn note(current: &Current, trouble: &Trouble) {
        let begun = || Begun {
            current: current.clone(),
            trouble: trouble.clone(),
        };
        // Outside of a caller there is nobody to note it for.
        let _ = CALLER.try_with(|caller| {
            let mut turns = lock(&caller.turns);
            turns.retain(|turn| !turn.current.ended.is_cancelled());
            turns.push(begun());
        });
    }
}

/// Spawns a task for the caller of the present one.
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
    async fn tasks_have_the_caller_of_the_task_that_spawned_them() {
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
