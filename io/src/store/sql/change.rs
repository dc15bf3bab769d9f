//! Changes wait for the writer of their store. The writer commits all that wait together: one transaction and one flush to
//! the disk, however many turns are under way.

use super::database::{Database, Session};
use crate::store::StoreError;
use futures::FutureExt;
use futures::future::BoxFuture;
use stepwell_core::registry::ThreadKey;
use tokio::sync::oneshot;

/// The most changes of one transaction.
pub(super) const MAX_GROUP: usize = 128;

/// Something to change in a store. A change checks all that it depends on before it writes anything: a change that is
/// refused has written nothing, and the others of its transaction are committed without it.
pub(super) trait Change<S: Session>: Send + Sync + 'static {
    /// What the caller gets.
    type Output: Send + Sync + 'static;

    /// Returns the thread that changes, if one does.
    fn thread(&self) -> Option<&ThreadKey>;

    /// Returns whether the thread may see no further change. Other processes must hear of such a change even if this
    /// process dies right after it.
    fn may_be_last(&self, output: &Self::Output) -> bool;

    /// Applies the change within a transaction.
    fn apply<'a>(&'a self, session: &'a mut S) -> BoxFuture<'a, Result<Self::Output, StoreError>>;
}

/// A change, and the caller that waits for it. Public in a private module.
pub trait Job<S: Session>: Send + Sync {
    /// Returns the thread that has changed, if one has.
    fn changed_thread(&self) -> Option<&ThreadKey>;

    /// Returns whether the thread may see no further change.
    fn may_be_last(&self) -> bool;

    /// Applies the change. What refuses the change is kept for its caller.
    ///
    /// # Errors
    /// The database failed: the transaction cannot be committed.
    fn apply<'a>(&'a mut self, session: &'a mut S) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Answers the caller, now that the transaction is committed, or that it failed.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Waiting<C, T> {
    change: C,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

/// Submits a change, and waits for its transaction. The change is committed also if the caller stops waiting.
pub(super) async fn submit<D: Database, C: Change<D::Session>>(
    database: &D,
    change: C,
) -> Result<C::Output, StoreError> {
    let (reply, answer) = oneshot::channel();
    database.submit(Box::new(Waiting {
        change,
        result: None,
        reply,
    }));
    answer.await.unwrap_or_else(|_| Err(closed()))
}

/// The answer of a store that was closed.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable {
        message: "it is closed".to_owned(),
    }
}

impl<S: Session, C: Change<S>> Job<S> for Waiting<C, C::Output> {
    fn changed_thread(&self) -> Option<&ThreadKey> {
        let is_changed = matches!(self.result, Some(Ok(_)));
        self.change.thread().filter(|_| is_changed)
    }

    fn may_be_last(&self) -> bool {
        match &self.result {
            Some(Ok(output)) => self.change.may_be_last(output),
            _ => false,
        }
    }

    fn apply<'a>(&'a mut self, session: &'a mut S) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            match self.change.apply(session).await {
                Err(error) if !is_refusal(&error) => Err(error),
                result => {
                    self.result = Some(result);
                    Ok(())
                }
            }
        }
        .boxed()
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match (committed, self.result) {
            (Ok(()), Some(result)) | (Err(_), Some(result @ Err(_))) => result,
            (Ok(()), None) => Err(closed()),
            (Err(error), _) => Err(error),
        };
        // The caller may wait no more.
        let _ = self.reply.send(result);
    }
}

/// Returns whether a change was refused for what the store holds; else the database has failed.
fn is_refusal(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Stale { .. }
            | StoreError::Busy { .. }
            | StoreError::Exists { .. }
            | StoreError::Closed { .. }
            | StoreError::Gap { .. }
            | StoreError::Conflict { .. }
            | StoreError::NoTurn { .. }
            | StoreError::NoThread { .. }
    )
}

/// How a transaction failed.
enum Failure {
    /// It could not begin.
    NotBegun(StoreError),
    /// It was undone.
    Undone(StoreError),
    /// Its commit failed: whether it is committed is not known.
    Unknown(StoreError),
}

/// Commits changes together, and answers their callers. Where the database fails, each change is tried by itself: one that
/// cannot be stored holds up no other.
pub(super) async fn commit_together<S: Session>(session: &mut S, mut jobs: Vec<Box<dyn Job<S>>>) {
    let mut committed = transaction(session, &mut jobs).await;
    if let Err(Failure::Undone(error)) = &committed {
        if jobs.len() > 1 {
            tracing::debug!(target: "stepwell", %error, changes = jobs.len(), "changes are stored one by one");
            for job in jobs {
                Box::pin(commit_together(session, vec![job])).await;
            }
            return;
        }
        // Another process may have come between.
        if matches!(error, StoreError::Unavailable { .. }) {
            committed = transaction(session, &mut jobs).await;
        }
    }
    let committed = committed.map_err(|failure| match failure {
        Failure::NotBegun(error) | Failure::Undone(error) | Failure::Unknown(error) => error,
    });
    for job in jobs {
        if let Some(thread) = job.changed_thread() {
            // After an error too: the transaction may be committed.
            session.changed(thread, job.may_be_last());
        }
        job.answer(committed.clone());
    }
}

async fn transaction<S: Session>(
    session: &mut S,
    jobs: &mut [Box<dyn Job<S>>],
) -> Result<(), Failure> {
    session.begin().await.map_err(Failure::NotBegun)?;
    let applied = async {
        for job in &mut *jobs {
            job.apply(session).await?;
        }
        let last = jobs.iter().filter(|job| job.may_be_last());
        let last: Vec<_> = last.filter_map(|job| job.changed_thread()).collect();
        session.announce(&last).await
    };
    if let Err(error) = applied.await {
        session.rollback().await;
        return Err(Failure::Undone(error));
    }
    match session.commit().await {
        Ok(()) => Ok(()),
        Err(error) => {
            session.rollback().await;
            Err(Failure::Unknown(error))
        }
    }
}
