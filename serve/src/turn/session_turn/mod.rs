//! A turn of a session: what it emits goes into the store, where its readers find it.

mod begin;
mod make;

use crate::engine::{Command, CommandReply, Continued, DriverSetup, EngineError, Origin};
use crate::turn::agent::TurnAgent;
use crate::turn::announce::{QuestionIds, RunHead, Stands, Statuses, announce};
use crate::turn::asking::Asking;
use crate::turn::brought::{Brought, Given, RunTerms};
use crate::turn::call_labels::CallLabels;
use crate::turn::compactions::StoredCompactions;
use crate::turn::drive::{CurrentRun, Drive, DriveEnd, EndedRun};
use crate::turn::ending::Ending;
use crate::turn::event_writer::{EventWriter, Log, Written};
use crate::turn::in_runs::input;
use crate::turn::questions::Questions;
use crate::turn::reading::Reading;
use crate::turn::rounds::Rounds;
use crate::turn::runs::{Open, Runs};
use crate::turn::shared_state::SharedState;
use crate::turn::store_trouble::StoreTrouble;
use crate::turn::stored::Stored;
use crate::turn::told_progress::ToldProgress;
use crate::turn::usage::usage_since;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use stepwell_core::event::Interrupt;
use stepwell_core::transcript::Compaction;
use stepwell_io::AgentBuilder;
use stepwell_io::config::Endpoint;
use stepwell_io::store::{Claimed, RESTING, StoreError, TurnKey};
use stepwell_io::turn::{StoredTurn, TurnEvents};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// The start of a turn.
#[derive(Debug)]
pub(crate) enum TurnStart {
    /// A message, or the history alone.
    Started {
        origin: Origin,
        /// The agent that the turn's agent is built from, if it has the client's tools.
        base: Option<Box<AgentBuilder>>,
        brought: Box<Brought>,
        whole_history: bool,
        /// Notified whether the turn is in the store.
        begun: oneshot::Sender<Result<(), EngineError>>,
    },
    /// The turn as an earlier owner has left it.
    Revived(Claimed),
}

/// All that a turn needs.
#[derive(Debug)]
pub(crate) struct SessionTurn {
    pub(crate) setup: Arc<DriverSetup>,
    pub(crate) key: TurnKey,
    /// The agent that runs the turn, if not the server's own.
    pub(crate) agent: Option<Arc<TurnAgent>>,
    /// The run that the turn continues in.
    pub(crate) continued: Option<(Box<Continued>, CommandReply)>,
    /// Cancelled when this host takes no more runs.
    pub(crate) closing: CancellationToken,
    /// The number of readers on this host.
    pub(crate) readers: watch::Receiver<usize>,
    pub(crate) commands: mpsc::Receiver<(Command, CommandReply)>,
    pub(crate) cancel: CancellationToken,
    /// Whether the turn has rested for as long as it may.
    pub(crate) has_lapsed: bool,
    /// Cancelled when this host releases the turn, which continues later.
    pub(crate) leave: CancellationToken,
    /// What keeps the turn from being stored, for its readers on this host.
    pub(crate) trouble: watch::Sender<Option<StoreTrouble>>,
    /// Notified whether the turn waits for the user.
    pub(crate) asks: watch::Sender<bool>,
    pub(crate) is_waiting: Arc<AtomicBool>,
    pub(crate) is_over: Arc<AtomicBool>,
    /// Set to the turn's generation in the store, once it is stored.
    pub(crate) stands: Arc<OnceLock<StoredTurn>>,
}

/// A turn that is stored, and what is needed to drive it.
struct BegunTurn {
    turn: TurnEvents,
    agent: Arc<TurnAgent>,
    /// The endpoints of the models that the turn may ask, the one that answers first.
    models: Vec<Endpoint>,
    asked: mpsc::UnboundedReceiver<Asking>,
    stored: Stored,
    written: Written,
    /// The turns up to this one, if an owner before had begun it.
    path: Vec<stepwell_core::session::Turn>,
    terms: Option<RunTerms>,
    /// Whether an earlier owner had continued the turn in a run that it could not report any more.
    is_untold: bool,
    /// What the client brought to that owner, which may not have stored all of it.
    given: Given,
    state: Option<SharedState>,
}

/// The state of a turn, once it is reported.
struct Announced {
    rounds: Rounds,
    labels: CallLabels,
    /// The compactions that were reported.
    compactions: HashSet<Compaction>,
    questions: Questions,
    /// The questions that the log has open, and that the turn has not asked again yet.
    open: BTreeMap<String, Interrupt>,
    /// The questions that the log has open, and that the turn asks no more.
    void: BTreeSet<String>,
    run: Option<CurrentRun>,
}

impl SessionTurn {
    /// Drives the turn to its end.
    pub(crate) async fn run(self, begin: TurnStart) {
        let key = self.key.clone();
        if let Err(error) = self.work(begin).await {
            if error.is_lost() {
                tracing::info!(target: "stepwell", turn = %key, %error, "a turn is left to its new owner");
            } else {
                tracing::error!(target: "stepwell", turn = %key, %error, "a turn cannot be stored");
            }
        }
    }

    async fn work(self, begin: TurnStart) -> Result<(), StoreError> {
        let Some(begun) = self.begin(begin).await? else {
            return Ok(());
        };
        let Some(stored) = begun.turn.handle().stored().cloned() else {
            return Ok(());
        };
        let _ = self.stands.set(stored.clone());
        let generation = stored.generation;
        let mut writer = EventWriter::stored(self.log(stored, &begun), &begun.written);
        let (setup, key) = (Arc::clone(&self.setup), self.key.clone());
        let (models, is_over) = (begun.models.clone(), Arc::clone(&self.is_over));
        match Box::pin(self.drive(begun, &mut writer)).await? {
            DriveEnd::Ended(ending, run) => {
                report_end(ending, run, &key, &models, &is_over, writer).await
            }
            DriveEnd::Left => writer.finish().await,
            DriveEnd::Rests(owner) => {
                writer.finish().await?;
                setup.store.claim(&key, generation, owner).await?;
                tracing::info!(target: "stepwell", turn = %key, "a turn waits for its user, and for no host");
                Ok(())
            }
        }
    }

    fn log(&self, turn: StoredTurn, begun: &BegunTurn) -> Log {
        Log {
            store: Arc::clone(&self.setup.store),
            turn,
            stored: begun.stored.clone(),
            leave: self.leave.clone(),
            trouble: watch::Sender::default(),
        }
    }

    /// Drives a turn that has begun, after reporting where it is.
    async fn drive(
        self,
        begun: BegunTurn,
        writer: &mut EventWriter,
    ) -> Result<DriveEnd, StoreError> {
        let ids = QuestionIds::new(&self.key, begun.terms.is_some());
        let announced = self.announce(&begun, &ids, writer).await?;
        let setup = &*self.setup;
        let terms = begun.terms.as_ref();
        let lingers = terms.filter(|terms| !terms.is_background);
        let drive = Drive {
            setup,
            key: &self.key,
            agent: &begun.agent,
            models: &begun.models,
            turn: begun.turn,
            writer,
            rounds: announced.rounds,
            labels: announced.labels,
            compactions: announced.compactions,
            questions: announced.questions,
            asked: begun.asked,
            cancel: self.cancel,
            closing: self.closing,
            leave: self.leave,
            trouble: self.trouble,
            stored: begun.stored,
            open: announced.open,
            commands: self.commands,
            asks: self.asks,
            is_waiting: self.is_waiting,
            has_lapsed: self.has_lapsed,
            early: Vec::new(),
            progress: ToldProgress::default(),
            ids: &ids,
            run: announced.run,
            is_told_in_runs: terms.is_some(),
            state: begun.state,
            has_moved: false,
            reading: Reading::new(self.readers, lingers.and(setup.linger)),
            resting: setup.elsewhere.or(terms.is_some().then_some(RESTING)),
            next: None,
            void: announced.void,
            postponed: Vec::new(),
        };
        Ok(drive.run(begun.given, self.continued).await)
    }

    /// Reports where the turn is.
    async fn announce(
        &self,
        begun: &BegunTurn,
        ids: &QuestionIds,
        writer: &mut EventWriter,
    ) -> Result<Announced, StoreError> {
        let (key, terms, written) = (&self.key, begun.terms.as_ref(), &begun.written);
        let handle = begun.turn.handle();
        let asks = handle.interrupts().await.unwrap_or_default();
        let runs = Runs::of(&written.events, terms.is_some());
        let head = RunHead {
            id: terms.map_or(&key.turn, |terms| &terms.id),
            terms,
            begins: begun.is_untold || runs.open == Open::None,
        };
        let mut rounds = Rounds::new(key.turn.to_string());
        let mut labels = CallLabels::default();
        let compactions = StoredCompactions::of_last(&begun.path);
        let stands = Stands {
            key,
            ids,
            head,
            runs: &runs,
            transcript: handle.revived_from(),
            brought: &begun.given.results,
            statuses: &Statuses::of_last(&begun.path)?,
            compactions: &compactions,
            asks: &asks,
            written,
            tools: begun.agent.tools(),
            state: begun.state.as_ref(),
        };
        let (mut open, void) = announce(stands, writer, &mut rounds, &mut labels).await;
        let mut questions = Questions::default();
        for interrupt in asks {
            open.remove(&interrupt.id);
            questions.ask_for_agent(interrupt, self.setup.expires());
        }
        let run = match runs.open {
            Open::Run(id) => Some(id),
            Open::None | Open::Between => head.begins.then(|| head.id.clone()),
        };
        let run = run.map(|id| CurrentRun {
            id,
            before: runs.used,
            observer: self.setup.observed(),
        });
        if written.next == 0 {
            tracing::info!(target: "stepwell", turn = %key, "a turn begins");
        }
        Ok(Announced {
            rounds,
            labels,
            compactions: compactions.into_reported(handle.revived_from()),
            questions,
            open,
            void,
            run,
        })
    }
}

/// Reports the end of a turn, and waits until it is stored.
async fn report_end(
    ending: Ending,
    run: EndedRun,
    key: &TurnKey,
    models: &[Endpoint],
    is_over: &AtomicBool,
    mut writer: EventWriter,
) -> Result<(), StoreError> {
    if let Some(notice) = ending.notice() {
        writer.append(notice).await;
    }
    let usage = usage_since(run.used, &run.before, models.first());
    let event = ending.event(&input(key, &run.id), usage);
    tracing::info!(target: "stepwell", turn = %key, end = event.kind(), "a turn is over");
    if let Some(observer) = run.observer {
        observer.ended(&event);
    }
    is_over.store(true, Ordering::Relaxed);
    writer.end(event).await
}
