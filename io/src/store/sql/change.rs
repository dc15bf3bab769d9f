//! Changes wait for the writer of their store. The writer commits all that wait together: one transaction and one flush to
//! the disk, however many turns are under way.

use super::database::{Database, Job, Session};
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
    /// The result for the caller.
    type Output: Send + Sync + 'static;

    /// Returns the thread that changes, if one does.
    fn thread(&self) -> Option<&ThreadKey> {
        None
    }

    /// Returns whether the thread may see no further change. Other processes must be notified of such a change even if
    /// this process dies right after it.
    fn may_be_last(&self, _output: &Self::Output) -> bool {
        false
    }

    /// Applies the change within a transaction.
    fn apply<'a>(&'a self, session: &'a mut S) -> BoxFuture<'a, Result<Self::Output, StoreError>>;
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
        // The reason for a refusal may be another change of the transaction: if that failed, nothing is known.
        let Self { result, reply, .. } = *self;
        let result = committed.and_then(|()| result.unwrap_or_else(|| Err(closed())));
        // The caller may wait no more.
        let _ = reply.send(result);
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

/// The failure of a transaction.
enum Failure {
    /// The transaction could not begin.
    NotBegun(StoreError),
    /// The transaction was undone.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sql::database::{Row, Value};
    use crate::store::sql::schema::SqlWords;
    use stepwell_core::RunId;

    /// A session whose statements are numbers: it keeps them, and fails where the test asks it to.
    #[derive(Default)]
    struct Numbers {
        pending: Vec<i64>,
        committed: Vec<Vec<i64>>,
        /// The statement that fails.
        fails: Option<i64>,
        /// How many commits fail.
        failing_commits: u32,
        begins: u32,
    }

    struct NoRow;

    impl Row for NoRow {
        fn maybe_integer(&self, _: usize) -> Result<Option<i64>, StoreError> {
            Ok(None)
        }

        fn maybe_text(&self, _: usize) -> Result<Option<&str>, StoreError> {
            Ok(None)
        }
    }

    fn failed() -> StoreError {
        StoreError::Full {
            message: "no room".to_owned(),
        }
    }

    impl Session for Numbers {
        type Row = NoRow;

        const WORDS: SqlWords = SqlWords {
            serial: "",
            key: "",
            name: "",
            clustered: "",
            locked: "",
            now: "",
        };

        async fn begin(&mut self) -> Result<(), StoreError> {
            assert_eq!(self.pending, [0; 0], "the transaction before is over");
            self.begins += 1;
            Ok(())
        }

        async fn commit(&mut self) -> Result<(), StoreError> {
            if let Some(left) = self.failing_commits.checked_sub(1) {
                self.failing_commits = left;
                return Err(failed());
            }
            let pending = std::mem::take(&mut self.pending);
            self.committed.push(pending);
            Ok(())
        }

        async fn rollback(&mut self) {
            self.pending.clear();
        }

        async fn announce(&mut self, _: &[&ThreadKey]) -> Result<(), StoreError> {
            Ok(())
        }

        fn changed(&self, _: &ThreadKey, _: bool) {}

        async fn execute(&mut self, _: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
            for value in values {
                if let Value::Integer(number) = value {
                    if self.fails == Some(*number) {
                        return Err(failed());
                    }
                    self.pending.push(*number);
                }
            }
            Ok(1)
        }

        async fn rows(&mut self, _: &str, _: &[Value<'_>]) -> Result<Vec<NoRow>, StoreError> {
            Ok(Vec::new())
        }
    }

    /// Stores its number, or is refused.
    struct Number(i64, bool);

    impl Change<Numbers> for Number {
        type Output = i64;

        fn apply<'a>(&'a self, session: &'a mut Numbers) -> BoxFuture<'a, Result<i64, StoreError>> {
            async move {
                if self.1 {
                    let turn = RunId::from("r");
                    return Err(StoreError::Closed { turn });
                }
                session.execute("", &[self.0.into()]).await?;
                Ok(self.0)
            }
            .boxed()
        }
    }

    /// Commits the numbers 0, 1, 2 …, of which some are refused, and returns their answers.
    async fn commit(session: &mut Numbers, refused: &[bool]) -> Vec<Result<i64, StoreError>> {
        let mut jobs: Vec<Box<dyn Job<Numbers>>> = Vec::new();
        let mut answers = Vec::new();
        for (number, refused) in (0..).zip(refused) {
            let (reply, answer) = oneshot::channel();
            let waiting = Waiting {
                change: Number(number, *refused),
                result: None,
                reply,
            };
            jobs.push(Box::new(waiting));
            answers.push(answer);
        }
        commit_together(session, jobs).await;
        let mut results = Vec::new();
        for answer in answers {
            results.push(answer.await.unwrap());
        }
        results
    }

    fn closed_turn() -> StoreError {
        StoreError::Closed { turn: "r".into() }
    }

    #[tokio::test]
    async fn commits_changes_without_refused_ones() {
        let mut session = Numbers::default();
        let results = commit(&mut session, &[false, true, false]).await;
        assert_eq!(results, [Ok(0), Err(closed_turn()), Ok(2)]);
        assert_eq!(session.committed, [[0, 2]]);
        assert_eq!(session.begins, 1);
    }

    #[tokio::test]
    async fn isolates_a_change_that_cannot_be_stored() {
        let mut session = Numbers {
            fails: Some(1),
            ..Numbers::default()
        };
        let results = commit(&mut session, &[false, false, true, false]).await;
        assert_eq!(results, [Ok(0), Err(failed()), Err(closed_turn()), Ok(3)]);
        assert_eq!(session.committed, [vec![0], vec![], vec![3]]);
    }

    #[tokio::test]
    async fn fails_all_changes_of_a_failed_commit() {
        let mut session = Numbers {
            failing_commits: 1,
            ..Numbers::default()
        };
        let results = commit(&mut session, &[false, true, false]).await;
        assert_eq!(
            results,
            [Err(failed()), Err(failed()), Err(failed())],
            "what refused one may be what another has changed"
        );
        assert_eq!(session.committed, [[0; 0]; 0]);
        assert_eq!(commit(&mut session, &[false]).await, [Ok(0)]);
    }
}
