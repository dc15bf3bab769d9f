//! Tells other processes which threads have changed, by NOTIFY.
//!
//! In a transaction that is costly: a server commits those that notify one after the other, in all its databases, and
//! flushes each to the disk on its own. So only a change that may be the last one of its thread is told so. The others are
//! told once they last, in one notification for all that came while the one before was under way.

use super::attending::LONGEST_ANSWER;
use super::postgres::{CHANNEL, failed};
use crate::store::StoreError;
use crate::threads::lock;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A notification of 8,000 bytes and more is refused (<https://www.postgresql.org/docs/current/sql-notify.html>).
const LONGEST_NOTIFICATION: usize = 7_900;

/// Before the next try, when the server does not take a notification.
const PAUSE: Duration = Duration::from_secs(1);

const NOTIFY: &str = "SELECT CAST(pg_notify($1, payload) AS TEXT) FROM UNNEST($2) AS payload";

/// Who tells. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Announcing(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// What the notifications of this process are known by.
    id: String,
    /// What is to be told.
    payloads: Mutex<HashSet<String>>,
    line: tokio::sync::Mutex<Line>,
    over: CancellationToken,
}

/// A connection for nothing else: it waits for no other statement.
#[derive(Debug)]
struct Line {
    connect: PgConnectOptions,
    connection: Option<PgConnection>,
    /// Somebody tries again.
    is_retried: bool,
}

/// Whose change a notification tells of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// One of this process, which knows of it.
    Own,
    /// A thread that another process has changed.
    Thread(ThreadKey),
    /// Any may have changed.
    Any,
}

impl Announcing {
    /// To this server, until the store is `over`.
    pub(super) fn on(connect: PgConnectOptions, over: CancellationToken) -> Self {
        // A notification changes nothing that would have to be on the disk.
        let connect = connect
            .application_name("stepwell changes")
            .options([("synchronous_commit", "off")]);
        Self(Arc::new(Shared {
            id: Uuid::new_v4().simple().to_string(),
            payloads: Mutex::default(),
            line: tokio::sync::Mutex::new(Line {
                connect,
                connection: None,
                is_retried: false,
            }),
            over,
        }))
    }

    /// Tells of a change that lasts. What the server does not take is told later, and not waited for.
    pub(super) async fn tell(&self, thread: &ThreadKey) {
        lock(&self.0.payloads).insert(self.payload(thread));
        let mut line = self.0.line.lock().await;
        if line.is_retried {
            return;
        }
        if let Err(error) = self.tell_all(&mut line).await {
            tracing::warn!(target: "stepwell", %error, "other hosts cannot be told of a change; trying again");
            line.is_retried = true;
            tokio::spawn(self.clone().try_again());
        }
    }

    async fn try_again(self) {
        loop {
            tokio::select! {
                biased;
                () = self.0.over.cancelled() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
            let mut line = self.0.line.lock().await;
            if self.tell_all(&mut line).await.is_ok() {
                line.is_retried = false;
                return;
            }
        }
    }

    /// What waits, with what came while others were told of what was before.
    async fn tell_all(&self, line: &mut Line) -> Result<(), StoreError> {
        let payloads: Vec<_> = lock(&self.0.payloads).drain().collect();
        if payloads.is_empty() {
            return Ok(());
        }
        let told = line.notify(&payloads).await;
        if told.is_err() {
            lock(&self.0.payloads).extend(payloads);
        }
        told
    }

    /// The thread as a notification names it, and who changed it.
    pub(super) fn payload(&self, thread: &ThreadKey) -> String {
        let parts = [&*thread.server, &*thread.room, &*thread.thread, &self.0.id];
        let payload = serde_json::json!(parts).to_string();
        // Without a name: all are woken.
        if payload.len() > LONGEST_NOTIFICATION {
            String::new()
        } else {
            payload
        }
    }

    /// What a notification says.
    pub(super) fn heard(&self, payload: &str) -> Heard {
        match serde_json::from_str::<[String; 4]>(payload) {
            Ok([.., id]) if id == self.0.id => Heard::Own,
            Ok([server, room, thread, _]) => Heard::Thread(ThreadKey::new(server, room, thread)),
            Err(_) => Heard::Any,
        }
    }

    /// Ends the connection, once nobody uses it.
    pub(super) async fn close(&self) {
        let connection = self.0.line.lock().await.connection.take();
        if let Some(connection) = connection {
            let _ = tokio::time::timeout(LONGEST_ANSWER, connection.close()).await;
        }
    }
}

impl Line {
    /// A connection that was lost is made anew at once.
    async fn notify(&mut self, payloads: &[String]) -> Result<(), StoreError> {
        if let Some(connection) = self.connection.take()
            && let Ok(connection) = notify(connection, payloads).await
        {
            self.connection = Some(connection);
            return Ok(());
        }
        let connection = in_time(self.connect.connect()).await?;
        self.connection = Some(notify(connection, payloads).await?);
        Ok(())
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

/// The network may have swallowed what was sent.
async fn in_time<T>(asked: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, StoreError> {
    let answer = tokio::time::timeout(LONGEST_ANSWER, asked).await;
    let late = |_| StoreError::Unavailable {
        message: format!("no answer in {} s", LONGEST_ANSWER.as_secs()),
    };
    answer.map_err(late)?.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_names_the_thread_if_there_is_room() {
        let host = || Announcing::on(PgConnectOptions::new(), CancellationToken::new());
        let (here, there) = (host(), host());
        let key = ThreadKey::new("a\"b", "", "c/d\u{1f}");
        assert_eq!(there.heard(&here.payload(&key)), Heard::Thread(key.clone()));
        assert_eq!(here.heard(&here.payload(&key)), Heard::Own);
        let long = ThreadKey::from(&*"\u{1}".repeat(2_000));
        assert_eq!(here.payload(&long), "");
        for of_others in ["", "[\"\",\"\",\"a thread, as hosts said it before\"]"] {
            assert_eq!(here.heard(of_others), Heard::Any);
        }
    }
}
