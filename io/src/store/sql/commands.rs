//! Commands to owners, as statements.

use super::change::Change;
use super::database::{Access, Database, Row, Session, Value};
use super::read::integer;
use super::{SqlStore, query};
use crate::store::inbox::{Inbox, check_waiting, followed};
use crate::store::wake::Changes;
use crate::store::{SentCommand, StoreError, StoreFuture, check};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::future::ready;
use stepwell_core::registry::ThreadKey;

/// The age after which a command is deleted: no sender waits for it.
const FORGOTTEN_AFTER_MS: u32 = 60 * 60 * 1000;

/// Adds a command.
struct Send {
    command: SentCommand,
    followed: ThreadKey,
}

impl<S: Session> Change<S> for Send {
    type Output = ();

    fn thread(&self) -> Option<&ThreadKey> {
        Some(&self.followed)
    }

    fn may_be_last(&self, (): &()) -> bool {
        true
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let SentCommand { id, owner, command } = &self.command;
            let sql = "SELECT COUNT(*) FROM commands WHERE owner = ?1 AND reply IS NULL";
            let waiting = session.row(sql, &[Value::Text(owner)]).await?;
            check_waiting(waiting.map_or(Ok(0), |row| row.count(0))?)?;
            let now = S::WORDS.now;
            let sql = format!("DELETE FROM commands WHERE sent_at < {now} - {FORGOTTEN_AFTER_MS}");
            session.execute(&sql, &[]).await?;
            let sql = format!(
                "INSERT INTO commands (id, owner, command, sent_at) VALUES (?1, ?2, ?3, {now}) \
                 ON CONFLICT (id) DO NOTHING"
            );
            let values = [id, owner, command].map(|text| Value::Text(text));
            session.execute(&sql, &values).await.map(drop)
        }
        .boxed()
    }
}

/// Replies to a command.
struct Reply {
    id: String,
    reply: String,
    followed: ThreadKey,
}

impl<S: Session> Change<S> for Reply {
    type Output = ();

    fn thread(&self) -> Option<&ThreadKey> {
        Some(&self.followed)
    }

    fn may_be_last(&self, (): &()) -> bool {
        true
    }

    fn apply<'a>(&'a self, session: &'a mut S) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let sql = "UPDATE commands SET reply = ?2 WHERE id = ?1 AND reply IS NULL";
            let values = [Value::Text(&self.id), Value::Text(&self.reply)];
            session.execute(sql, &values).await.map(drop)
        }
        .boxed()
    }
}

/// Removes a command.
struct Remove {
    id: String,
}

impl<S: Session> Change<S> for Remove {
    type Output = ();

    fn apply<'a>(&'a self, session: &'a mut S) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let sql = "DELETE FROM commands WHERE id = ?1";
            session
                .execute(sql, &[Value::Text(&self.id)])
                .await
                .map(drop)
        }
        .boxed()
    }
}

async fn waiting<S: Session>(
    session: &mut S,
    owner: &str,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let sql =
        "SELECT id FROM commands WHERE owner = ?1 AND reply IS NULL ORDER BY position LIMIT ?2";
    let values = [Value::Text(owner), integer(limit as u64).into()];
    let rows = session.rows(sql, &values).await?;
    rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

async fn command<S: Session>(session: &mut S, id: &str) -> Result<Option<SentCommand>, StoreError> {
    let sql = "SELECT owner, command FROM commands WHERE id = ?1";
    let Some(row) = session.row(sql, &[Value::Text(id)]).await? else {
        return Ok(None);
    };
    Ok(Some(SentCommand {
        id: id.to_owned(),
        owner: row.text(0)?.to_owned(),
        command: row.text(1)?.to_owned(),
    }))
}

async fn reply_to<S: Session>(session: &mut S, id: &str) -> Result<Option<String>, StoreError> {
    let sql = "SELECT reply FROM commands WHERE id = ?1";
    let row = session.row(sql, &[Value::Text(id)]).await?;
    let reply = row.as_ref().map_or(Ok(None), |row| row.maybe_text(0))?;
    Ok(reply.map(str::to_owned))
}

impl<D: Database> Inbox for SqlStore<D> {
    fn send<'a>(&'a self, command: &'a SentCommand) -> StoreFuture<'a, ()> {
        self.change(check::command(command).map(|()| Send {
            command: command.clone(),
            followed: followed(&command.owner),
        }))
    }

    fn waiting<'a>(&'a self, owner: &'a str, limit: usize) -> StoreFuture<'a, Vec<String>> {
        let owner = owner.to_owned();
        query!(self, Statement, |session| waiting(session, &owner, limit)).boxed()
    }

    fn command<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<SentCommand>> {
        let id = id.to_owned();
        query!(self, Statement, |session| command(session, &id)).boxed()
    }

    fn reply<'a>(&'a self, id: &'a str, reply: &'a str) -> StoreFuture<'a, ()> {
        self.change(check::reply(reply).map(|()| Reply {
            id: id.to_owned(),
            reply: reply.to_owned(),
            followed: followed(id),
        }))
    }

    fn reply_to<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<String>> {
        let id = id.to_owned();
        query!(self, Statement, |session| reply_to(session, &id)).boxed()
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        self.change(Ok(Remove { id: id.to_owned() }))
    }

    fn subscribe<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Changes> {
        ready(Ok(self.database.subscribe(&followed(name)))).boxed()
    }
}
