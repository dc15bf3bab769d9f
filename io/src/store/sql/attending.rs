//! Who is there of those that own turns on a PostgreSQL server: each holds an advisory lock of one connection, so that the
//! server itself says who lives. It lets go of the locks when the connection ends, as it does when the process dies, and
//! ends the connection itself when nothing is heard on it: of a process that is frozen, or out of reach.

use super::postgres::failed;
use crate::store::StoreError;
use crate::store::presence::{Held, Presence};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// How often the server hears of this process.
const SAID_EVERY: Duration = Duration::from_secs(1);
/// After how long a silence the server ends the connection.
const SILENCE: Duration = Duration::from_secs(5);
/// How long it is certain that it has not, counted from before the server was last spoken to.
const CERTAIN: Duration = Duration::from_secs(4);
/// How long the server may take to answer.
pub(super) const LONGEST_ANSWER: Duration = Duration::from_secs(3);

/// The lock of an owner, as a number. It is the same in a query of [`ABSENT`].
const LOCK: &str = "SELECT pg_try_advisory_lock(hashtextextended($1 COLLATE \"C\", 0))";
const UNLOCK: &str = "SELECT pg_advisory_unlock(hashtextextended($1 COLLATE \"C\", 0))";

/// That nobody holds the lock of `s.owner`. A lock by one number is shown as two
/// (<https://www.postgresql.org/docs/current/view-pg-locks.html>).
pub(super) const ABSENT: &str = " AND NOT EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted \
    AND l.objsubid = 1 \
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) \
    AND (CAST(l.classid AS BIGINT) << 32 | CAST(l.objid AS BIGINT)) \
    = hashtextextended(s.owner COLLATE \"C\", 0))";

/// Those of this process that are there. The connection is made when the first of them comes, and ends with the last.
#[derive(Debug)]
pub(super) struct Attending {
    commands: mpsc::UnboundedSender<Command>,
    next: AtomicU64,
}

#[derive(Debug)]
enum Command {
    Attend(Owner),
    Leave(u64),
}

/// One who is there.
#[derive(Debug)]
struct Owner {
    number: u64,
    name: String,
    /// Since when the server has it.
    since: Option<Instant>,
    held: watch::Sender<Option<Held>>,
    /// Who waits for it to be there for the first time.
    awaited: Option<oneshot::Sender<Result<(), StoreError>>>,
}

impl Attending {
    /// On this server, until it is `over`.
    pub(super) fn on(
        connect: PgConnectOptions,
        timeout: Duration,
        over: CancellationToken,
    ) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let line = Line {
            connect: connect.application_name("stepwell presence"),
            timeout,
            connection: None,
            owners: Vec::new(),
        };
        tokio::spawn(line.keep(receiver, over));
        Self {
            commands,
            next: AtomicU64::default(),
        }
    }

    /// As [`Store::attend`](crate::store::Store::attend).
    pub(super) async fn attend(&self, name: &str) -> Result<Presence, StoreError> {
        let closed = || StoreError::Unavailable {
            message: "it is closed".to_owned(),
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (held, is_held) = watch::channel(None);
        let (awaited, is_there) = oneshot::channel();
        let owner = Owner {
            number,
            name: name.to_owned(),
            since: None,
            held,
            awaited: Some(awaited),
        };
        let commands = self.commands.clone();
        let attend = self.commands.send(Command::Attend(owner));
        attend.map_err(|_| closed())?;
        // From here on it leaves again, also if nobody waits for it any more.
        let presence = Presence::kept(is_held, move || {
            let _ = commands.send(Command::Leave(number));
        });
        is_there.await.map_err(|_| closed())??;
        Ok(presence)
    }
}

/// The connection, and whose locks it has.
struct Line {
    connect: PgConnectOptions,
    timeout: Duration,
    connection: Option<PgConnection>,
    owners: Vec<Owner>,
}

impl Line {
    async fn keep(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command>,
        over: CancellationToken,
    ) {
        let mut ticks = tokio::time::interval(SAID_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let command = tokio::select! {
                () = over.cancelled() => break,
                command = commands.recv() => match command {
                    Some(command) => Some(command),
                    None => break,
                },
                _ = ticks.tick(), if !self.owners.is_empty() => None,
            };
            match command {
                Some(Command::Leave(number)) => self.leave(number).await,
                Some(Command::Attend(owner)) => {
                    self.owners.push(owner);
                    self.say().await;
                }
                None => self.say().await,
            }
        }
        self.lose();
        // One that was being sent would stay in a channel that is only dropped, and whoever sent it would wait.
        commands.close();
        while commands.recv().await.is_some() {}
    }

    /// Says that all are there. A connection that was lost is made anew at once.
    async fn say(&mut self) {
        let mut said = self.lock_all().await;
        if said.is_err() {
            let was_connected = self.connection.is_some();
            self.lose();
            if was_connected {
                said = self.lock_all().await;
            }
        }
        let Err(error) = said else { return };
        self.lose();
        tracing::warn!(target: "stepwell", %error, "the store does not know that this host lives; trying again");
        // Who has just come hears of it, and decides itself whether to try again.
        self.owners.retain_mut(|owner| match owner.awaited.take() {
            Some(awaited) => {
                let _ = awaited.send(Err(error.clone()));
                false
            }
            None => true,
        });
    }

    /// Locks what is not locked yet, or only speaks to the server.
    async fn lock_all(&mut self) -> Result<(), StoreError> {
        let late = |_| StoreError::Unavailable {
            message: format!("no answer in {} s", LONGEST_ANSWER.as_secs()),
        };
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let connection = tokio::time::timeout(self.timeout, connect(&self.connect)).await;
                self.connection.insert(connection.map_err(late)??)
            }
        };
        let asked_at = Instant::now();
        let lock = async {
            let mut has_asked = false;
            for owner in &mut self.owners {
                if owner.since.is_none() {
                    let lock = sqlx::query_scalar(LOCK).bind(&owner.name);
                    let is_locked: bool = lock.fetch_one(&mut *connection).await.map_err(failed)?;
                    // Else the server has not found out yet that this process' connection before is gone.
                    owner.since = is_locked.then_some(asked_at);
                    has_asked = true;
                }
            }
            if !has_asked {
                connection.ping().await.map_err(failed)?;
            }
            Ok(())
        };
        tokio::time::timeout(LONGEST_ANSWER, lock)
            .await
            .map_err(late)??;
        let until = asked_at + CERTAIN;
        for owner in &mut self.owners {
            if let Some(since) = owner.since {
                owner.held.send_replace(Some(Held { since, until }));
                if let Some(awaited) = owner.awaited.take() {
                    let _ = awaited.send(Ok(()));
                }
            }
        }
        Ok(())
    }

    /// The connection is gone, and with it all locks.
    fn lose(&mut self) {
        self.connection = None;
        for owner in &mut self.owners {
            owner.since = None;
            owner.held.send_replace(None);
        }
    }

    async fn leave(&mut self, number: u64) {
        let place = self.owners.iter().position(|owner| owner.number == number);
        let Some(place) = place else { return };
        let owner = self.owners.swap_remove(place);
        let Some(connection) = &mut self.connection else {
            return;
        };
        if self.owners.is_empty() {
            // The locks end with it.
            if let Some(connection) = self.connection.take() {
                let _ = tokio::time::timeout(LONGEST_ANSWER, connection.close()).await;
            }
            return;
        }
        if owner.since.is_some() {
            let unlock = sqlx::query(UNLOCK).bind(&owner.name).execute(connection);
            let done = tokio::time::timeout(LONGEST_ANSWER, unlock).await;
            if !matches!(done, Ok(Ok(_))) {
                // The others take theirs again on another connection, at the next tick.
                self.lose();
            }
        }
    }
}

/// A connection that the server itself ends when nothing is heard on it.
async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let mut connection = options.connect().await.map_err(failed)?;
    let silence = format!("SET idle_session_timeout = {}", SILENCE.as_millis());
    let set = sqlx::query(&silence).execute(&mut connection).await;
    if let Err(error) = set {
        tracing::warn!(target: "stepwell", %error, "the PostgreSQL server is older than 14: it takes a frozen host for one that lives");
    }
    Ok(connection)
}
