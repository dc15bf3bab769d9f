//! Begins runs: finds out whether a posted run is a new turn, the next run of a turn that waits, or a run that its client
//! resumes.

use super::{AgUiServer, Cursor};
use crate::engine::{Command, Continued, EngineError, LOOKS, NewTurn, Origin, TELLING_TIME};
use crate::follow::{RunStream, Scope};
use crate::run::attach::Known;
use crate::run::prepared::PreparedRun;
use crate::turn::answers::Unresumable;
use crate::turn::brought::{Brought, Given};
use crate::turn::compactions::compaction_after;
use crate::turn::ending::Ending;
use crate::turn::event_writer::Written;
use crate::turn::in_runs::{input, started};
use crate::turn::runs::Waits;
use std::sync::Arc;
use stepwell_core::event::{Event, Interrupt, ResumeStatus};
use stepwell_core::registry::ThreadKey;
use stepwell_core::transcript::Transcript;
use stepwell_io::RunId;
use stepwell_io::store::{StoreError, ThreadRecord, TurnKey};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

impl AgUiServer {
    /// Begins a run, continues a turn that waits for it, or resumes it. `close` closes the client's connection.
    ///
    /// # Errors
    /// The store cannot be read or written, or no run is taken.
    #[doc(hidden)]
    pub async fn begin(
        &self,
        thread: ThreadKey,
        run: PreparedRun,
        cursor: &Cursor,
        close: CancellationToken,
    ) -> Result<RunStream, EngineError> {
        self.open().await?;
        if let Some(wanted) = &run.reattach {
            return self.reattach(&thread, wanted, &run, cursor, close).await;
        }
        let mut turn = TurnKey::new(thread.clone(), run.run_id().clone());
        let mut latest = None;
        for _ in 0..LOOKS {
            let record = self.store().thread(&thread).await?;
            let found = match &record {
                Some(record) => self.look(record, &run, &mut turn).await?,
                None => unknown(&run).map_or(RunMatch::Nothing, RunMatch::Refused),
            };
            latest = record.and_then(|record| record.latest);
            match found {
                RunMatch::Nothing => return self.start(turn, latest, &run, close).await,
                RunMatch::Run(turn, written) => {
                    let known = Known::of(&run);
                    return self.come_back(turn, known, written, cursor, close).await;
                }
                RunMatch::Refused(error) => return Ok(refused(&turn, &run, &error)),
                RunMatch::Waits(waiting, next) => {
                    if self.continue_turn(&waiting, &run).await? {
                        let after = next.checked_sub(1);
                        return self.stream(waiting, &run, after, close).await;
                    }
                }
            }
        }
        match run.resume.is_empty() {
            true => self.start(turn, latest, &run, close).await,
            false => Err(EngineError::Contended),
        }
    }

    /// Resumes the run of this id; the thread's latest if the id is empty.
    async fn reattach(
        &self,
        thread: &ThreadKey,
        wanted: &RunId,
        run: &PreparedRun,
        cursor: &Cursor,
        close: CancellationToken,
    ) -> Result<RunStream, EngineError> {
        let named = (!wanted.is_empty()).then_some(wanted);
        let attached = self.attach(thread, named, Known::of(run), cursor, close);
        let no_run = || StoreError::NoTurn {
            turn: wanted.clone(),
        };
        Ok(attached.await?.ok_or_else(no_run)?)
    }

    /// Continues a turn in this run. Returns whether the turn took the run: a turn that is about to rest, or that something
    /// else has happened to meanwhile, does not.
    async fn continue_turn(&self, turn: &TurnKey, run: &PreparedRun) -> Result<bool, EngineError> {
        let command = Command::Continue(Box::new(Continued {
            brought: Brought {
                given: Given {
                    answers: run.resume.clone(),
                    results: run.results.clone(),
                },
                ..run.brought()
            },
            agent: Some(Arc::clone(&run.agent)),
            base: Some(run.base.clone()),
        }));
        match self.0.engine.tell(turn, command).await {
            Ok(()) => Ok(true),
            Err(EngineError::Over | EngineError::Contended) => {
                let told = self.0.engine.told(turn);
                let _ = tokio::time::timeout(TELLING_TIME, told).await;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Starts a new turn. `latest` is the latest turn of its thread.
    async fn start(
        &self,
        turn: TurnKey,
        latest: Option<RunId>,
        run: &PreparedRun,
        close: CancellationToken,
    ) -> Result<RunStream, EngineError> {
        let latest = latest.map(|latest| TurnKey::new(turn.thread.clone(), latest));
        let mut history = Transcript::new(run.history.clone());
        if let Some(latest) = latest.as_ref().filter(|_| run.agent.is_compacting()) {
            // What was summarised for an earlier run is not summarised again. A message that the client no longer has hides
            // nothing.
            match self.store().path(latest).await {
                Ok(path) => history = history.with_compaction(compaction_after(&path)),
                Err(error) => {
                    tracing::warn!(target: "stepwell", turn = %latest, %error, "the compaction by earlier runs cannot be read");
                }
            }
        }
        self.driver().forget_ended(latest).await?;
        let new = NewTurn {
            thread: turn.thread,
            turn: turn.turn,
            origin: Origin::History(Box::new(history)),
            agent: Some(Arc::clone(&run.agent)),
            base: Some(run.base.clone()),
            brought: run.brought(),
            whole_history: run.whole_history,
        };
        let turn = self.0.engine.start(new).await?;
        self.stream(turn, run, None, close).await
    }

    /// Opens the engine before the first run: it then continues turns that no host drives.
    async fn open(&self) -> Result<(), EngineError> {
        let opened = self.0.is_open.get_or_try_init(|| self.0.engine.open());
        opened.await.copied()
    }

    /// Finds what the thread has that a run may belong to. A run whose id is that of another turn gets an id of its own.
    async fn look(
        &self,
        record: &ThreadRecord,
        run: &PreparedRun,
        turn: &mut TurnKey,
    ) -> Result<RunMatch, EngineError> {
        let unfinished = record.unfinished.as_ref().map(|open| &open.key.turn);
        let latest = unfinished.or(record.latest.as_ref());
        let latest = latest.map(|latest| TurnKey::new(record.key.clone(), latest.clone()));
        let is_latest = latest.as_ref() == Some(turn);
        if let Some(found) = self.find_begun(latest.as_ref(), run, turn).await? {
            return Ok(found);
        }
        let Some(latest) = latest.filter(|_| run.goes_on() || unfinished.is_some()) else {
            return Ok(unknown(run).map_or(RunMatch::Nothing, RunMatch::Refused));
        };
        let written = self.read(&latest).await?;
        if !is_latest && run.goes_on() && written.has_run(run.run_id()) {
            return Ok(RunMatch::Run(latest, written));
        }
        let waits = unfinished.and_then(|_| Waits::of(&written.events));
        Ok(match waits {
            Some(waits) => waiting_for(waits, run, latest, &written),
            None => gone(&written, run),
        })
    }

    /// Finds the run among the turns that were begun with it. If its id is that of another turn, `turn` gets a new id.
    async fn find_begun(
        &self,
        latest: Option<&TurnKey>,
        run: &PreparedRun,
        turn: &mut TurnKey,
    ) -> Result<Option<RunMatch>, EngineError> {
        // A run whose id another turn had, when the run began.
        let is_alias = |latest: &&TurnKey| {
            let rest = latest.turn.strip_prefix(turn.turn.as_str());
            rest.is_some_and(|rest| rest.starts_with('-'))
        };
        if let Some(alias) = latest.filter(is_alias)
            && self.is_same(alias, run).await?
        {
            let written = self.read(alias).await?;
            if written.has_run(run.run_id()) {
                return Ok(Some(RunMatch::Run(alias.clone(), written)));
            }
        }
        let logs = std::slice::from_ref(&*turn);
        if latest == Some(turn) || self.store().event_logs(logs).await? != [None] {
            if self.is_same(turn, run).await? {
                let written = self.read(turn).await?;
                return Ok(Some(RunMatch::Run(turn.clone(), written)));
            }
            turn.turn = format!("{}-{}", turn.turn, Uuid::new_v4().simple()).into();
        }
        Ok(None)
    }

    /// Returns whether a turn was begun with the messages of this run. A client whose connection was cut also sends the
    /// part of the answer that it has.
    async fn is_same(&self, turn: &TurnKey, run: &PreparedRun) -> Result<bool, StoreError> {
        let stored = self.store().turn(turn).await?;
        let history = stored.and_then(|stored| stored.history);
        let more = history.and_then(|history| run.beyond(&history.messages));
        match more {
            None => Ok(false),
            Some(more) if more.is_empty() => Ok(true),
            Some(more) => {
                let written = self.read(turn).await?;
                Ok(more.iter().all(|id| written.has_message(id)))
            }
        }
    }

    async fn stream(
        &self,
        turn: TurnKey,
        run: &PreparedRun,
        after: Option<u64>,
        close: CancellationToken,
    ) -> Result<RunStream, EngineError> {
        let scope = Scope::Begins(run.run_id().clone());
        self.stream_in(turn, Known::of(run), scope, after, close)
            .await
    }
}

/// The part of a thread to which a run may belong.
enum RunMatch {
    /// Nothing: a turn begins.
    Nothing,
    /// The run itself, in the log of this turn.
    Run(TurnKey, Written),
    /// This turn, which waits for the run; and the number of the next event of its log.
    Waits(TurnKey, u64),
    /// The reason why the run is refused.
    Refused(Unresumable),
}

/// Returns what becomes of a run whose thread's latest turn waits.
fn waiting_for(waits: Waits, run: &PreparedRun, latest: TurnKey, written: &Written) -> RunMatch {
    match (waits.questions.is_empty(), run.resume.is_empty()) {
        (false, false) => RunMatch::Waits(latest, written.next),
        (false, true) if run.is_new || waits.questions.values().any(has_expired) => {
            RunMatch::Nothing
        }
        (false, true) => {
            let open = waits.questions.into_keys().collect();
            RunMatch::Refused(Unresumable::Open(open))
        }
        (true, false) => gone(written, run),
        (true, true) => {
            let has_result = |call| run.results.iter().any(|(of, _)| of == call);
            match waits.calls.iter().all(has_result) {
                true => RunMatch::Waits(latest, written.next),
                // The client has taken another way.
                false => RunMatch::Nothing,
            }
        }
    }
}

/// Returns the error of answers without a question.
fn unknown(run: &PreparedRun) -> Option<Unresumable> {
    let answer = run.resume.first()?;
    Some(Unresumable::Unknown(answer.interrupt_id.clone()))
}

/// Returns the match of a run when no question is open any more. Answers that came too late can only cancel the
/// questions.
fn gone(written: &Written, run: &PreparedRun) -> RunMatch {
    let asked = |id: &String| {
        let mut asked = written.events.iter().filter_map(|event| match event {
            Event::Custom(custom) if custom.name == "interrupt" => {
                serde_json::from_value::<Interrupt>(custom.value.clone()).ok()
            }
            _ => None,
        });
        asked.any(|asked| asked.id == *id && has_expired(&asked))
    };
    for answer in &run.resume {
        let id = &answer.interrupt_id;
        if !asked(id) {
            return RunMatch::Refused(Unresumable::Unknown(id.clone()));
        }
        if answer.status == ResumeStatus::Resolved {
            return RunMatch::Refused(Unresumable::Expired(id.clone()));
        }
    }
    RunMatch::Nothing
}

/// Returns whether the time for the answer is over.
fn has_expired(question: &Interrupt) -> bool {
    let expires = question.expires_at.as_deref();
    let expires = expires.and_then(|at| OffsetDateTime::parse(at, &Rfc3339).ok());
    expires.is_some_and(|expires| expires <= OffsetDateTime::now_utc())
}

/// A run that ends at once, and is not stored.
fn refused(turn: &TurnKey, run: &PreparedRun, error: &Unresumable) -> RunStream {
    let id = run.run_id();
    let ending = Ending::failed(error.code(), error.to_string());
    let events = vec![
        started(turn, id, Some(&run.terms)),
        ending.event(&input(turn, id), None),
    ];
    RunStream::told(events, id.clone(), run.version)
}
