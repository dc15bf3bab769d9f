//! Notifies other processes of the threads that have changed, by NOTIFY.
//!
//! In a transaction that is costly: a server commits the transactions that notify one after the other, in all its
//! databases. So only a change that may be the last one of its thread is announced so. The other changes are announced
//! after their commit, in one notification for all that came while the one before was under way.

use super::error::failed;
use crate::base::lock;
use crate::store::StoreError;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The channel on which processes announce changes.
pub(super) const CHANNEL: &str = "stepwell";

/// A notification of 8,000 bytes and more is refused (<https://www.postgresql.org/docs/current/sql-notify.html>).
const MAX_NOTIFICATION_BYTES: usize = 7_900;

/// Before the next try, when the server does not take a notification.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The time that the server may take to answer: the network may have swallowed the request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) const NOTIFY: &str =
    "SELECT CAST(pg_notify($1, payload) AS TEXT) FROM UNNEST($2) AS payload";

/// The sender of notifications to other processes. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Announcing(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Marks the notifications of this process.
    id: String,
    /// The notifications that are not sent yet.
    payloads: Mutex<HashSet<String>>,
    has_new: Notify,
}

/// Whose change a notification is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notification {
    /// A notification of this process itself.
    Own,
    /// A thread that another process has changed.
    Thread(ThreadKey),
    /// Any may have changed.
    Any,
}

impl Announcing {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            id: Uuid::new_v4().simple().to_string(),
            payloads: Mutex::default(),
            has_new: Notify::new(),
        }))
    }

    /// Announces a committed change, soon.
    pub(super) fn announce(&self, thread: &ThreadKey) {
        lock(&self.0.payloads).insert(self.payload(thread));
        self.0.has_new.notify_one();
    }

    /// Sends the notifications to a server, until the store is `over`. The connection is for nothing else: a
    /// notification waits for no other statement.
    pub(super) async fn send(self, connect: PgConnectOptions, over: CancellationToken) {
        // A notification changes nothing that would have to be on the disk.
        let connect = connect
            .application_name("stepwell changes")
            .options([("synchronous_commit", "off")]);
        let mut connection = None;
        let mut is_away = false;
        loop {
            let pause = async {
                match is_away {
                    true => tokio::time::sleep(RETRY_PAUSE).await,
                    false => self.0.has_new.notified().await,
                }
            };
            tokio::select! {
                biased;
                () = over.cancelled() => break,
                () = pause => {}
            }
            let sent = self.send_all(&connect, &mut connection).await;
            if let Err(error) = &sent
                && !is_away
            {
                tracing::warn!(target: "stepwell", %error, "other hosts cannot be notified of a change; trying again");
            }
            is_away = sent.is_err();
        }
        if let Some(connection) = connection {
            let _ = tokio::time::timeout(ANSWER_TIMEOUT, connection.close()).await;
        }
    }

    async fn send_all(
        &self,
        connect: &PgConnectOptions,
        connection: &mut Option<PgConnection>,
    ) -> Result<(), StoreError> {
        let payloads: Vec<_> = lock(&self.0.payloads).drain().collect();
        if payloads.is_empty() {
            return Ok(());
        }
        if let Some(open) = connection.take()
            && let Ok(open) = notify(open, &payloads).await
        {
            *connection = Some(open);
            return Ok(());
        }
        // A connection that was lost is made again at once.
        let again = async { notify(in_time(connect.connect()).await?, &payloads).await };
        match again.await {
            Ok(open) => {
                *connection = Some(open);
                Ok(())
            }
            Err(error) => {
                lock(&self.0.payloads).extend(payloads);
                Err(error)
            }
        }
    }

    /// Returns a notification: the thread, and the process that changed it.
    pub(super) fn payload(&self, thread: &ThreadKey) -> String {
        let parts = [&*thread.server, &*thread.room, &*thread.thread, &self.0.id];
        let payload = serde_json::json!(parts).to_string();
        // Without a name all followers are woken.
        if payload.len() > MAX_NOTIFICATION_BYTES {
            String::new()
        } else {
            payload
        }
    }

    /// Reads a notification.
    pub(super) fn read_notification(&self, payload: &str) -> Notification {
        match serde_json::from_str::<[String; 4]>(payload) {
            Ok([.., id]) if id == self.0.id => Notification::Own,
            Ok([server, room, thread, _]) => {
                Notification::Thread(ThreadKey::new(server, room, thread))
            }
            Err(_) => Notification::Any,
        }
    }
}

async fn notify(
    mut connection: PgConnection,
    payloads: &[String],
) -> Result<PgConnection, StoreError> {
    let query = sqlx::query(NOTIFY).bind(CHANNEL).bind(payloads);
    in_time(query.execute(&mut connection)).await?;
    Ok(connection)
}

async fn in_time<T>(asked: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, StoreError> {
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, asked).await;
    let late = |_| StoreError::Unavailable {
        message: format!("no answer in {} s", ANSWER_TIMEOUT.as_secs()),
    };
    answer.map_err(late)?.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_thread_if_it_fits() {
        let (here, there) = (Announcing::new(), Announcing::new());
        let key = ThreadKey::new("a\"b", "", "c/d\u{1f}");
        assert_eq!(
            there.read_notification(&here.payload(&key)),
            Notification::Thread(key.clone())
        );
        assert_eq!(
            here.read_notification(&here.payload(&key)),
            Notification::Own
        );
        let long = ThreadKey::from(&*"\u{1}".repeat(2_000));
        assert_eq!(here.payload(&long), "");
        for of_others in ["", "[\"\",\"\",\"a thread, as hosts said it before\"]"] {
            assert_eq!(here.read_notification(of_others), Notification::Any);
        }
    }
}
