//! Clients that resume a run, or a conversation.

use super::prepared::PreparedRun;
use super::server::{AgUiServer, Cursor};
use crate::engine::{EngineError, LONGEST_REQUEST};
use crate::follow::{RunStream, Scope, dropped, prelude};
use crate::turn::event_writer::Written;
use crate::turn::runs::{Open, Runs};
use crate::ui_message::ChatStream;
use stepwell_core::MessageId;
use stepwell_core::dialect::ClientVersion;
use stepwell_core::event::{Common, Event};
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::SessionError;
use stepwell_io::RunId;
use stepwell_io::store::{StoreError, TurnKey};
use stepwell_io::tool::ToolRegistry;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The facts about a client that resumes.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    run: &'a RunId,
    version: ClientVersion,
    /// The server's own tools.
    own: &'a ToolRegistry,
}

impl<'a> Known<'a> {
    pub(crate) fn of(run: &'a PreparedRun) -> Self {
        Self {
            run: run.run_id(),
            version: run.version,
            own: run.agent.tools(),
        }
    }
}

impl AgUiServer {
    /// Resumes the thread's conversation, for a client that has nothing of it: its state, and the further events of its
    /// run, if one is under way. The stream of a thread that has nothing is empty.
    ///
    /// # Errors
    /// The store cannot be read.
    #[doc(hidden)]
    pub async fn connect(
        &self,
        thread: &ThreadKey,
        run: &PreparedRun,
        close: CancellationToken,
    ) -> Result<RunStream, EngineError> {
        let known = Known::of(run);
        let Some((turn, written, latest)) = self.latest(thread, None).await? else {
            let id = run.run_id().clone();
            return Ok(RunStream::told(Vec::new(), id, known.version));
        };
        if Runs::of(&written.events, true).open == Open::Run(latest.clone()) {
            let known = Known {
                run: &latest,
                ..known
            };
            let cursor = Cursor::default();
            return self.come_back(turn, known, written, &cursor, close).await;
        }
        let mut told = match is_dropped(&written) {
            true => {
                let path = self.store().path(&turn).await?;
                let told = dropped(&turn, &latest, &path).map_err(|error| damaged(&error))?;
                told.to_vec()
            }
            false => self.stands(&turn, &written, known.own).await?,
        };
        told.extend(written.events.into_iter().next_back());
        Ok(RunStream::told(told, latest, known.version))
    }

    /// Comes back to a run of the thread, to the latest if none is named; `None` if there is no such run.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) async fn attach(
        &self,
        thread: &ThreadKey,
        run: Option<&RunId>,
        known: Known<'_>,
        cursor: &Cursor,
        close: CancellationToken,
    ) -> Result<Option<RunStream>, EngineError> {
        let Some((turn, written, run)) = self.latest(thread, run).await? else {
            return Ok(None);
        };
        let known = Known { run: &run, ..known };
        let stream = self.come_back(turn, known, written, cursor, close);
        Ok(Some(stream.await?))
    }

    /// The chat's run that is under way, or that ended while no client read it.
    ///
    /// # Errors
    /// The store cannot be read.
    #[doc(hidden)]
    pub async fn latest_chat(
        &self,
        chat: &ThreadKey,
        close: CancellationToken,
    ) -> Result<Option<ChatStream>, EngineError> {
        let Some((turn, written, run)) = self.latest(chat, None).await? else {
            return Ok(None);
        };
        let is_under_way = matches!(Runs::of(&written.events, true).open, Open::Run(_));
        let log = self.store().event_log(&turn).await?;
        let read = log.acknowledged;
        if !is_under_way && read.is_some_and(|read| read + 1 >= written.next) {
            return Ok(None);
        }
        let started = written.events.iter().rev().find_map(|event| match event {
            Event::RunStarted(start) => Some(start),
            _ => None,
        });
        let Some(started) = started else {
            return Ok(None);
        };
        let message = message_of(&started.common);
        let known = Known {
            run: &run,
            version: ClientVersion::declared(started.protocol_version.as_deref()),
            own: &ToolRegistry::new(),
        };
        let scope = Scope::Begins(run.clone());
        let stream = self.stream_in(turn, known, scope, None, close).await?;
        Ok(Some(ChatStream::new(stream, message.to_string())))
    }

    /// Returns the thread's latest turn that has emitted something, with its latest run; or with this run, if it has
    /// that one.
    async fn latest(
        &self,
        thread: &ThreadKey,
        run: Option<&RunId>,
    ) -> Result<Option<(TurnKey, Written, RunId)>, EngineError> {
        let Some(record) = self.store().thread(thread).await? else {
            return Ok(None);
        };
        let unfinished = record.unfinished.map(|unfinished| unfinished.key.turn);
        let latest = unfinished.or(record.latest);
        for turn in latest.iter().chain(run) {
            let turn = TurnKey::new(thread.clone(), turn.clone());
            let written = match self.begun(&turn).await {
                Err(StoreError::NoTurn { .. }) => continue,
                written => written?,
            };
            let started = written.events.iter().rev().find_map(|event| match event {
                Event::RunStarted(start) if run.is_none_or(|run| *run == start.run_id) => {
                    Some(start.run_id.clone())
                }
                _ => None,
            });
            // Its end alone may be left.
            let started = started.or_else(|| {
                let ended = ended_run(&turn, &written)?;
                run.is_none_or(|run| *run == ended).then_some(ended)
            });
            if let Some(run) = started {
                return Ok(Some((turn, written, run)));
            }
        }
        Ok(None)
    }

    /// Reads the log of a turn. Waits a short time for a turn under way that has emitted nothing yet.
    async fn begun(&self, turn: &TurnKey) -> Result<Written, StoreError> {
        let mut changes = self.store().subscribe(&turn.thread).await?;
        let begins = async {
            loop {
                let written = self.read(turn).await?;
                let thread = self.store().thread(&turn.thread).await?;
                let unfinished = thread.and_then(|thread| thread.unfinished);
                if written.next > 0 || unfinished.is_none_or(|open| open.key != *turn) {
                    return Ok(written);
                }
                changes.changed().await;
            }
        };
        match tokio::time::timeout(LONGEST_REQUEST, begins).await {
            Ok(begun) => begun,
            Err(_) => self.read(turn).await,
        }
    }

    /// Comes back to a run of a turn.
    pub(super) async fn come_back(
        &self,
        turn: TurnKey,
        known: Known<'_>,
        written: Written,
        cursor: &Cursor,
        close: CancellationToken,
    ) -> Result<RunStream, EngineError> {
        let id = known.run;
        let is_under_way = Runs::of(&written.events, true).open == Open::Run(id.clone());
        let after = cursor.of(id).filter(|after| *after < written.next);
        if after.is_some() {
            return self.stream_in(turn, known, Scope::Run, after, close).await;
        }
        let written = match is_under_way {
            true => written,
            // The stream sends all of the run. The prelude first resets what the client has, so that no delta is added
            // twice.
            false => match written.until_start(id) {
                Some(written) => written,
                None => {
                    let scope = Scope::Begins(id.clone());
                    return self.stream_in(turn, known, scope, None, close).await;
                }
            },
        };
        let last = written.next.saturating_sub(1);
        let told = self.stands(&turn, &written, known.own).await?;
        let stream = self.stream_in(turn, known, Scope::Run, Some(last), close);
        Ok(stream.await?.with_prelude(told, last))
    }

    /// Returns the events that show a turn at the end of its log.
    async fn stands(
        &self,
        turn: &TurnKey,
        written: &Written,
        own: &ToolRegistry,
    ) -> Result<Vec<Event>, EngineError> {
        let path = self.store().path(turn).await?;
        Ok(prelude(path, written, own).map_err(|error| damaged(&error))?)
    }

    pub(super) async fn stream_in(
        &self,
        turn: TurnKey,
        known: Known<'_>,
        scope: Scope,
        after: Option<u64>,
        close: CancellationToken,
    ) -> Result<RunStream, EngineError> {
        let follow = self.follow_in(turn, scope, after, close).await;
        let follow = follow.map_err(EngineError::from)?;
        let run = known.run.clone();
        Ok(RunStream::new(follow, run, known.version))
    }
}

/// Returns whether the log of a turn that is over was dropped.
fn is_dropped(written: &Written) -> bool {
    let first = written.events.first();
    let begins = first.is_none_or(|first| matches!(first, Event::RunStarted(_)));
    !begins && written.next > written.events.len() as u64
}

/// The run that has ended in a log that was dropped.
fn ended_run(turn: &TurnKey, written: &Written) -> Option<RunId> {
    match written.events.last().filter(|_| is_dropped(written))? {
        Event::RunFinished(finished) => Some(finished.run_id.clone()),
        Event::RunError(_) => Some(turn.turn.clone()),
        _ => None,
    }
}

fn damaged(error: &SessionError) -> StoreError {
    StoreError::Damaged {
        message: error.to_string(),
    }
}

/// The message that a chat's answer belongs to.
fn message_of(common: &Option<Box<Common>>) -> MessageId {
    let metadata = common.as_ref().and_then(|common| common.metadata.as_ref());
    let id = metadata.and_then(|metadata| metadata.get("messageId"));
    let id = id.and_then(serde_json::Value::as_str);
    id.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
        .into()
}
