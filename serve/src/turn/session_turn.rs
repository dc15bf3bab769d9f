//! A turn of a session: what it says goes into the store, and whoever follows it reads it there.

use crate::engine::{Command, Continued, DriverSetup, EngineError, Origin, Parent, Told};
use crate::turn::agent::TurnAgent;
use crate::turn::announce::{QuestionIds, RunHead, Stands, Statuses, announce};
use crate::turn::asking::{Asking, approver};
use crate::turn::brought::{Brought, Given, RunTerms};
use crate::turn::call_labels::CallLabels;
use crate::turn::drive::{CurrentRun, Drive, Over};
use crate::turn::ending::usage_since;
use crate::turn::event_writer::{self, EventWriter, Log, Written};
use crate::turn::questions::Questions;
use crate::turn::reading::Reading;
use crate::turn::rounds::Rounds;
use crate::turn::runs::{Open, Runs};
use crate::turn::shared_state::{CHANGE_STATE, SharedState};
use crate::turn::store_trouble::StoreTrouble;
use crate::turn::stored::{Stored, watched};
use crate::turn::told_progress::ToldProgress;
use crate::turn::{lost_end, models, session_state};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::RunAgentInput;
use stepwell_core::run::{Durability, TurnOptions};
use stepwell_io::store::{Claimed, RESTING, Store, StoreError, TurnKey};
use stepwell_io::{
    Agent, AgentBuilder, Conversation, Endpoint, RunId, SharedRegistry, Start, StoredTurn,
    ToolContext, Turn,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// What a turn begins with.
#[derive(Debug)]
pub(crate) enum Begin {
    /// A message, or the history alone.
    Started {
        origin: Origin,
        /// What its agent begins with, if it has the client's tools.
        base: Option<Box<AgentBuilder>>,
        brought: Box<Brought>,
        /// Told whether the turn is in the store.
        begun: oneshot::Sender<Result<(), EngineError>>,
    },
    /// What an owner before has left.
    Revived(Claimed),
}

/// All that a turn needs.
#[derive(Debug)]
pub(crate) struct SessionTurn {
    pub(crate) setup: Arc<DriverSetup>,
    pub(crate) key: TurnKey,
    /// What runs it, if not the agent of the server's own.
    pub(crate) agent: Option<Arc<TurnAgent>>,
    /// The run that it goes on in.
    pub(crate) continued: Option<(Box<Continued>, Told)>,
    /// No more runs are taken here.
    pub(crate) closing: CancellationToken,
    /// How many read it here.
    pub(crate) readers: watch::Receiver<usize>,
    pub(crate) commands: mpsc::Receiver<(Command, Told)>,
    pub(crate) cancel: CancellationToken,
    /// It has rested for as long as it may: what it waits for comes no more.
    pub(crate) has_lapsed: bool,
    /// The turn is let go of, to go on another time.
    pub(crate) leave: CancellationToken,
    /// What keeps the turn from being stored: told to whoever follows it on this host.
    pub(crate) trouble: watch::Sender<Option<StoreTrouble>>,
    /// Told whether the turn waits for the user.
    pub(crate) asks: watch::Sender<bool>,
    pub(crate) is_waiting: Arc<AtomicBool>,
    pub(crate) is_over: Arc<AtomicBool>,
    /// Told how the turn stands in the store, once it does.
    pub(crate) stands: Arc<OnceLock<StoredTurn>>,
}

/// A turn that stands in the store, and what is needed to drive it.
struct Begun {
    turn: Turn,
    agent: Arc<TurnAgent>,
    /// Who answers.
    endpoint: Endpoint,
    asked: mpsc::UnboundedReceiver<Asking>,
    stored: Stored,
    written: Written,
    /// The turns up to this one, if an owner before had begun it.
    path: Vec<stepwell_core::session::Turn>,
    terms: Option<RunTerms>,
    /// Whether an owner before had gone on with the turn in a run, and was gone before it could say so.
    is_untold: bool,
    /// What that owner was given, and may not have stored all of.
    given: Given,
    state: Option<SharedState>,
}

impl SessionTurn {
    /// Drives the turn to its end.
    pub(crate) async fn run(self, begin: Begin) {
        let key = self.key.clone();
        if let Err(error) = self.work(begin).await {
            if error.is_lost() {
                tracing::info!(target: "stepwell", turn = %key, %error, "a turn is left to its new owner");
            } else {
                tracing::error!(target: "stepwell", turn = %key, %error, "a turn cannot be stored");
            }
        }
    }

    async fn work(self, begin: Begin) -> Result<(), StoreError> {
        let Some(begun) = self.begin(begin).await? else {
            return Ok(());
        };
        let Begun {
            turn,
            agent,
            endpoint,
            asked,
            stored,
            written,
            path,
            terms,
            is_untold,
            given,
            state,
        } = begun;
        let (key, handle) = (self.key.clone(), turn.handle());
        let Some(its_turn) = handle.stored().cloned() else {
            return Ok(());
        };
        let _ = self.stands.set(its_turn.clone());
        let log = Log {
            store: Arc::clone(&self.setup.store),
            turn: its_turn,
            stored: stored.clone(),
            leave: self.leave.clone(),
            trouble: watch::Sender::default(),
        };
        let generation = log.turn.generation;
        let mut writer = EventWriter::stored(log, &written);
        let mut rounds = Rounds::new(key.turn.to_string());
        let mut labels = CallLabels::default();
        let asks = handle.interrupts().await.unwrap_or_default();
        let runs = Runs::of(&written.events, terms.is_some());
        let head = RunHead {
            id: terms.as_ref().map_or(&key.turn, |terms| &terms.id),
            terms: terms.as_ref(),
            begins: is_untold || runs.open == Open::None,
        };
        let ids = QuestionIds::new(&key, terms.is_some());
        let stands = Stands {
            key: &key,
            ids: &ids,
            head,
            runs: &runs,
            conversation: handle.revived_from(),
            brought: &given.results,
            statuses: &Statuses::of_last(&path)?,
            asks: &asks,
            written: &written,
            tools: agent.tools(),
            state: state.as_ref(),
        };
        let (mut open, void) = announce(stands, &mut writer, &mut rounds, &mut labels).await;
        let mut questions = Questions::default();
        for interrupt in asks {
            open.remove(&interrupt.id);
            questions.ask_for_agent(interrupt, self.setup.expires());
        }
        let setup = Arc::clone(&self.setup);
        let run = match runs.open {
            Open::Run(id) => Some(id),
            Open::None | Open::Between => head.begins.then(|| head.id.clone()),
        };
        let run = run.map(|id| CurrentRun {
            id,
            before: runs.used,
            observer: setup.observed(),
        });
        if written.next == 0 {
            tracing::info!(target: "stepwell", turn = %key, "a turn begins");
        }
        let linger = setup.linger;
        let lingers = terms.as_ref().filter(|terms| !terms.is_background);
        let drive = Drive {
            setup: &setup,
            key: &key,
            agent: &agent,
            endpoint: &endpoint,
            turn,
            writer: &mut writer,
            rounds,
            labels,
            questions,
            asked,
            cancel: self.cancel,
            closing: self.closing,
            leave: self.leave,
            trouble: self.trouble,
            stored,
            open,
            commands: self.commands,
            asks: self.asks,
            is_waiting: self.is_waiting,
            has_lapsed: self.has_lapsed,
            early: Vec::new(),
            progress: ToldProgress::default(),
            ids: &ids,
            run,
            is_told_in_runs: terms.is_some(),
            state,
            has_moved: false,
            reading: Reading::new(self.readers, lingers.and(linger)),
            resting: setup.elsewhere.or(terms.is_some().then_some(RESTING)),
            next: None,
            void,
            postponed: Vec::new(),
        };
        let (ending, run) = match drive.run(given, self.continued).await {
            Over::Ended(ending, run) => (ending, run),
            Over::Left => return writer.finish().await,
            Over::Rests(resting) => {
                writer.finish().await?;
                self.setup.store.claim(&key, generation, resting).await?;
                tracing::info!(target: "stepwell", turn = %key, "a turn waits for its user, and for no host");
                return Ok(());
            }
        };
        if let Some(notice) = ending.notice() {
            writer.append(notice).await;
        }
        let usage = usage_since(run.used, &run.before, Some(&endpoint));
        let event = ending.event(&input(&key, &run.id), usage);
        tracing::info!(target: "stepwell", turn = %key, end = event.kind(), "a turn is over");
        if let Some(observer) = run.observer {
            observer.ended(&event);
        }
        self.is_over.store(true, Ordering::Relaxed);
        writer.end(event).await
    }

    /// Who is to answer: the model of this name, or the usual one where it is offered no more.
    fn endpoint<'a>(&'a self, agent: &'a TurnAgent, model: Option<&str>) -> &'a Endpoint {
        let Some(wanted) = model else {
            return agent.endpoint();
        };
        models::find(agent.endpoint(), &self.setup.offered, wanted).unwrap_or_else(|| {
            tracing::warn!(target: "stepwell", turn = %self.key, wanted, "a turn's model is offered no more: another one answers");
            agent.endpoint()
        })
    }

    /// What runs the turn.
    fn turn_agent(&self) -> Option<Arc<TurnAgent>> {
        let continued = self.continued.as_ref();
        let brought = continued.and_then(|(continued, _)| continued.agent.clone());
        let own = || self.setup.agent.clone();
        brought.or_else(|| self.agent.clone()).or_else(own)
    }

    /// Starts or revives the turn, and waits until it stands in the store. Nothing, if it does not come to that.
    async fn begin(&self, begin: Begin) -> Result<Option<Begun>, StoreError> {
        match begin {
            Begin::Started {
                origin,
                base,
                brought,
                begun,
            } => {
                let laid_for = self.setup.elsewhere;
                let Some(made) = self.make(&brought, base.map(|base| *base), &origin, laid_for)
                else {
                    let _ = begun.send(Err(EngineError::Internal));
                    return Ok(None);
                };
                let turn = self.start(&made.agent, origin);
                let is_there = self.stands(&turn).await;
                let refused = match is_there || made.stored.is_laid() {
                    true => None,
                    false => Some(refusal(turn.handle().store_trouble().borrow().clone())),
                };
                let _ = begun.send(refused.map_or(Ok(()), |error| Err(error.into())));
                let begun = made.begun(turn, Written::default(), Vec::new(), brought.run);
                Ok(is_there.then_some(begun))
            }
            Begin::Revived(claimed) => self.revive(claimed).await,
        }
    }

    /// Goes on with what an owner before has left.
    async fn revive(&self, claimed: Claimed) -> Result<Option<Begun>, StoreError> {
        let key = &self.key;
        let checkpoint = claimed.checkpoint.as_deref().unwrap_or_default();
        let before = Brought::of_checkpoint(checkpoint);
        let written = event_writer::read(&self.setup.store, key, &self.leave).await?;
        let has_run = before
            .run
            .as_ref()
            .is_none_or(|run| written.has_run(&run.id));
        let is_untold = written.next > 0 && !has_run;
        let continued = self.continued.as_ref().filter(|_| !is_untold);
        let given = before.given.clone();
        let (brought, base) = match continued {
            Some((continued, _)) => (
                Brought {
                    chosen_model: before.chosen_model,
                    ..continued.brought.clone()
                },
                continued.base.clone(),
            ),
            None => (before, None),
        };
        let path = self.setup.store.path(key).await?;
        let left = StoredTurn {
            key: key.clone(),
            generation: claimed.generation,
        };
        let nothing = Origin::History(Vec::new());
        let made = self.make(&brought, base, &nothing, None);
        let revived = made.and_then(|made| {
            let shown = written.messages();
            let revived = made.agent.revive_claimed(left.clone(), checkpoint, &path, shown);
            let revived = revived.inspect_err(|error| {
                tracing::error!(target: "stepwell", turn = %key, %error, "a turn cannot be revived");
            });
            Some((revived.ok()?, made))
        });
        let Some((turn, made)) = revived else {
            tracing::error!(target: "stepwell", turn = %key, "a turn cannot go on, and ends");
            let is_cancelled = self.cancel.is_cancelled();
            let (shown, leave) = (written.messages(), self.leave.clone());
            lost_end::fail(&self.setup, left, is_cancelled, shown, leave).await?;
            return Ok(None);
        };
        if !self.stands(&turn).await {
            return Err(refusal(turn.handle().store_trouble().borrow().clone()));
        }
        if let Some(state) = made.state.as_ref().filter(|_| continued.is_none()) {
            session_state::catch_up(state, &written.events, &path);
        }
        let mut begun = made.begun(turn, written, path, brought.run);
        begun.is_untold = is_untold;
        begun.given = given;
        Ok(Some(begun))
    }

    /// Sets up the agent of the turn, and the store that it writes to. Nothing, if that cannot be.
    fn make(
        &self,
        brought: &Brought,
        base: Option<AgentBuilder>,
        origin: &Origin,
        laid_for: Option<&'static str>,
    ) -> Option<Made> {
        let key = &self.key;
        let Some(agent) = self.turn_agent() else {
            tracing::info!(target: "stepwell", turn = %key, "nobody says which agent runs a turn that was left");
            return None;
        };
        let endpoint = self.endpoint(&agent, brought.chosen_model.as_deref());
        let endpoint = endpoint.clone();
        let (asking, asked) = mpsc::unbounded_channel();
        let store = Arc::clone(&self.setup.store);
        let (store, stored) = watched(store, key.clone(), brought, laid_for);
        let terms = brought.run.as_ref();
        let shares_state = terms.is_none_or(|terms| terms.state.is_some());
        let base = match base {
            Some(base) => Ok(base),
            None => agent.with_tools(shares_state, &brought.client_tools),
        };
        let base = base.map_err(|error| error.to_string());
        let state = terms.and_then(|terms| terms.state.clone());
        let state = state.map(SharedState::new);
        let built = base.and_then(|base| {
            let builder = self.agent(base, &endpoint, store, asking);
            let builder = match terms {
                Some(terms) => in_run(builder, terms, state.as_ref(), origin),
                None if endpoint.dialect == Dialect::AgUi => builder,
                None => {
                    let changes = session_state::changes(&self.setup.store, key);
                    builder.handler(CHANGE_STATE, changes)
                }
            };
            builder.build().map_err(|error| error.to_string())
        });
        let built = built.inspect_err(|error| {
            tracing::error!(target: "stepwell", turn = %key, error, "a turn cannot be set up");
        });
        Some(Made {
            agent: built.ok()?,
            turn_agent: agent,
            endpoint,
            asked,
            stored,
            state,
        })
    }

    /// Waits until the turn has begun, or could not. Whether it stands in the store.
    async fn stands(&self, turn: &Turn) -> bool {
        let handle = turn.handle();
        tokio::select! {
            biased;
            () = handle.begun() => {}
            () = self.cancel.cancelled() => {
                // Whoever waits for the store waits no longer.
                turn.cancel();
                handle.begun().await;
            }
        }
        handle.stored().is_some()
    }

    fn start(&self, agent: &Agent, origin: Origin) -> Turn {
        let (parent, message) = match origin {
            Origin::Stored(parent, message) => (Some(parent), message),
            Origin::History(_) => (None, None),
        };
        let start = Start {
            run_id: self.key.turn.clone(),
            message: message.map(|message| *message),
            resume: Vec::new(),
            parent_run_id: None,
            options: TurnOptions::default(),
        };
        match parent {
            None => agent.start_from_history(start),
            Some(Parent::Latest) => agent.start(start),
            Some(Parent::Root) => agent.branch(None, start),
            Some(Parent::Turn(parent)) => agent.branch(Some(parent), start),
        }
    }

    fn agent(
        &self,
        mut builder: AgentBuilder,
        endpoint: &Endpoint,
        store: Arc<dyn Store>,
        asking: mpsc::UnboundedSender<Asking>,
    ) -> AgentBuilder {
        if let Some(journals) = &self.setup.journals {
            let sink = journals.record(&self.key);
            builder = builder.journal(move |run: &RunId, lines: &str| sink.write(run, lines));
        }
        let attempts = self.setup.attempts();
        let interrupt_time = self.setup.interrupt_time;
        builder
            .store(store)
            .owner(&self.setup.owner)
            .wait_for_store()
            .configure(|config| {
                config.endpoint = endpoint.clone();
                // For the beginning of a turn, which somebody waits for.
                config.durability = Durability::Blocks { attempts };
                config.timeouts.approval = Some(interrupt_time);
                config.timeouts.deferred = Some(interrupt_time);
            })
            .registry(SharedRegistry::default())
            .thread_key(self.key.thread.clone())
            .approver(approver(asking))
    }
}

/// What a turn is made with.
struct Made {
    agent: Agent,
    turn_agent: Arc<TurnAgent>,
    endpoint: Endpoint,
    asked: mpsc::UnboundedReceiver<Asking>,
    stored: Stored,
    state: Option<SharedState>,
}

impl Made {
    fn begun(
        self,
        turn: Turn,
        written: Written,
        path: Vec<stepwell_core::session::Turn>,
        terms: Option<RunTerms>,
    ) -> Begun {
        Begun {
            turn,
            agent: self.turn_agent,
            endpoint: self.endpoint,
            asked: self.asked,
            stored: self.stored,
            written,
            path,
            terms,
            is_untold: false,
            given: Given::default(),
            state: self.state,
        }
    }
}

/// Gives an agent what a client asked for with a run: its conversation, its situation and its state.
fn in_run(
    builder: AgentBuilder,
    terms: &RunTerms,
    state: Option<&SharedState>,
    origin: &Origin,
) -> AgentBuilder {
    let history = match origin {
        Origin::History(messages) => messages.clone(),
        Origin::Stored(..) => Vec::new(),
    };
    let history = Conversation::new(history);
    let history = match state {
        Some(state) => history.with_shared_state(state.value()),
        None => history,
    };
    let builder = builder.history(history).configure(|config| {
        // Nobody is there to hear of it: whoever looks after the turns that rest ends it.
        config.timeouts.approval = None;
        config.timeouts.deferred = None;
        if config.endpoint.dialect == Dialect::AgUi {
            let settings = &mut config.settings;
            settings.context.extend(terms.context.iter().cloned());
            settings.extra.extend(terms.forwarded_props.clone());
        } else if let Some(situation) = &terms.situation {
            config.instructions = Some(match config.instructions.take() {
                Some(own) => format!("{own}\n\n{situation}"),
                None => situation.clone(),
            });
        }
    });
    match state.cloned() {
        Some(state) => builder.handler(CHANGE_STATE, move |call: ToolContext| {
            std::future::ready(state.change(&call))
        }),
        None => builder,
    }
}

/// What names a run in its end.
pub(crate) fn input(key: &TurnKey, run: &RunId) -> RunAgentInput {
    RunAgentInput {
        thread_id: key.thread.thread.clone(),
        run_id: run.clone(),
        ..RunAgentInput::default()
    }
}

fn refusal(error: Option<StoreError>) -> StoreError {
    error.unwrap_or_else(|| StoreError::Other {
        message: "the turn could not be stored".to_owned(),
    })
}
