//! Tells other processes which threads have changed.
//!
//! Not in the transactions that change them: a server commits those that notify one after the other, in all its databases,
//! and flushes each to the disk on its own. One notification tells of all threads that have changed while the one
//! before was under way.

use super::postgres::{CHANNEL, failed};
use crate::store::StoreError;
use crate::threads::lock;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A notification of 8,000 bytes and more is refused (<https://www.postgresql.org/docs/current/sql-notify.html>).
const LONGEST_NOTIFICATION: usize = 7_900;

/// Before the next try, when the server does not take one.
const PAUSE: Duration = Duration::from_secs(1);

/// It changes nothing that would have to be on the disk. Without the first line each one would wait for that.
const NOTIFY: &str = "WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)) \
                      SELECT CAST(pg_notify($1, payload) AS TEXT) FROM quick, UNNEST($2) AS payload";

/// Who tells. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Announcing {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// What the notifications of this process are known by.
    id: String,
    waiting: Mutex<Waiting>,
    came: Notify,
    /// How many times it was told, or tried.
    told: watch::Sender<u64>,
}

/// What is to be told.
#[derive(Debug, Default)]
struct Waiting {
    payloads: HashSet<String>,
    /// How many times it was taken.
    taken: u64,
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
    /// To this server, on a connection of its own, until the store is `over`: it waits for no other statement.
    pub(super) fn on(
        connect: PgConnectOptions,
        timeout: Duration,
        over: CancellationToken,
    ) -> Self {
        let line = Line {
            connect: connect.application_name("stepwell changes"),
            timeout,
            connection: None,
        };
        let announcing = Self::new(Uuid::new_v4().simple().to_string());
        tokio::spawn(announcing.clone().tell_all(line, over));
        announcing
    }

    fn new(id: String) -> Self {
        Self {
            shared: Arc::new(Shared {
                id,
                waiting: Mutex::default(),
                came: Notify::new(),
                told: watch::Sender::default(),
            }),
        }
    }

    /// Tells of a change that lasts, and waits until it is told. When the server cannot be told, it is told later, and not
    /// waited for.
    pub(super) async fn tell(&self, thread: &ThreadKey) {
        let number = {
            let mut waiting = lock(&self.shared.waiting);
            waiting.payloads.insert(self.payload(thread));
            waiting.taken + 1
        };
        let mut told = self.shared.told.subscribe();
        self.shared.came.notify_one();
        // The store may be over meanwhile.
        let _ = told.wait_for(|told| *told >= number).await;
    }

    async fn tell_all(self, mut line: Line, over: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => break,
                () = self.shared.came.notified() => {}
            }
            let (payloads, number) = self.take();
            let told = line.notify(&payloads).await;
            self.shared.told.send_replace(number);
            let Err(error) = told else { continue };
            tracing::warn!(target: "stepwell", %error, "other hosts cannot be told of a change; trying again");
            lock(&self.shared.waiting).payloads.extend(payloads);
            tokio::select! {
                biased;
                () = over.cancelled() => break,
                () = tokio::time::sleep(PAUSE) => self.shared.came.notify_one(),
            }
        }
        // Nobody waits for what is told no more.
        self.shared.told.send_replace(u64::MAX);
        line.close().await;
    }

    fn take(&self) -> (Vec<String>, u64) {
        let mut waiting = lock(&self.shared.waiting);
        waiting.taken += 1;
        (waiting.payloads.drain().collect(), waiting.taken)
    }

    /// The thread as a notification names it, and who changed it.
    fn payload(&self, thread: &ThreadKey) -> String {
        let parts = [
            &*thread.server,
            &*thread.room,
            &*thread.thread,
            &self.shared.id,
        ];
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
            Ok([.., id]) if id == self.shared.id => Heard::Own,
            Ok([server, room, thread, _]) => Heard::Thread(ThreadKey::new(server, room, thread)),
            Err(_) => Heard::Any,
        }
    }
}

/// The connection.
struct Line {
    connect: PgConnectOptions,
    timeout: Duration,
    connection: Option<PgConnection>,
}

impl Line {
    /// Within the time that there is: the network may have swallowed what was sent. After a failure it is made anew.
    async fn notify(&mut self, payloads: &[String]) -> Result<(), StoreError> {
        if payloads.is_empty() {
            return Ok(());
        }
        let mut connection = self.connection.take();
        let told = tokio::time::timeout(self.timeout, async {
            let mut connection = match connection.take() {
                Some(connection) => connection,
                None => self.connect.connect().await?,
            };
            let query = sqlx::query(NOTIFY).bind(CHANNEL).bind(payloads);
            query.execute(&mut connection).await?;
            Ok(connection)
        });
        let connection = told.await.map_err(|_| StoreError::Unavailable {
            message: format!("no answer in {} s", self.timeout.as_secs()),
        })?;
        self.connection = Some(connection.map_err(failed)?);
        Ok(())
    }

    async fn close(self) {
        if let Some(connection) = self.connection {
            let _ = tokio::time::timeout(self.timeout, connection.close()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_names_the_thread_if_there_is_room() {
        let (here, there) = (Announcing::new("a".into()), Announcing::new("b".into()));
        let key = ThreadKey::new("a\"b", "", "c/d\u{1f}");
        assert_eq!(there.heard(&here.payload(&key)), Heard::Thread(key.clone()));
        assert_eq!(here.heard(&here.payload(&key)), Heard::Own);
        let long = ThreadKey::from(&*"\u{1}".repeat(2_000));
        assert_eq!(here.payload(&long), "");
        for of_others in ["", "[\"\",\"\",\"a thread, as hosts said it before\"]"] {
            assert_eq!(here.heard(of_others), Heard::Any);
        }
    }

    #[tokio::test]
    async fn threads_that_change_meanwhile_are_told_at_once_and_each_once() {
        let announcing = Announcing::new("a".into());
        let mut tellers = Vec::new();
        for thread in ["a", "b", "a"] {
            let announcing = announcing.clone();
            tellers.push(tokio::spawn(async move {
                announcing.tell(&thread.into()).await;
            }));
        }
        while lock(&announcing.shared.waiting).payloads.len() < 2 {
            tokio::task::yield_now().await;
        }
        tokio::task::yield_now().await;
        let (payloads, number) = announcing.take();
        assert_eq!(payloads.len(), 2);
        assert_eq!(announcing.take(), (Vec::new(), number + 1));
        announcing.shared.told.send_replace(number);
        for teller in tellers {
            teller.await.unwrap();
        }
    }
}
