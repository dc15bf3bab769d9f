//! A turn of a session: what it says goes into the store, and whoever follows it reads it there.

use crate::engine::DriverSetup;
use crate::engine::{Command, Told};
use crate::engine::{EngineError, Parent};
use crate::turn::announce::{Stands, Statuses, announce};
use crate::turn::asking::{Asking, approver};
use crate::turn::call_labels::CallLabels;
use crate::turn::drive::{Drive, Over};
use crate::turn::ending::usage_since;
use crate::turn::event_writer;
use crate::turn::event_writer::{EventWriter, Log, Written};
use crate::turn::kept::{Kept, kept};
use crate::turn::lost_end;
use crate::turn::models;
use crate::turn::questions::Questions;
use crate::turn::rounds::Rounds;
use crate::turn::session_state;
use crate::turn::shared_state::CHANGE_STATE;
use crate::turn::store_trouble::StoreTrouble;
use crate::turn::stored::{Stored, watched};
use crate::turn::told_progress::ToldProgress;
use crate::turn::turn_tools::TurnTools;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Message, RunAgentInput, TokenUsage};
use stepwell_core::run::{Durability, TurnOptions};
use stepwell_io::store::{Claimed, Store, StoreError, TurnKey};
use stepwell_io::{
    Agent, AgentBuilder, BuildError, Endpoint, RunId, SharedRegistry, Start, StoredTurn, Turn,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// What a turn begins with.
#[derive(Debug)]
pub(crate) enum Begin {
    /// A message, or the history alone.
    Started {
        parent: Parent,
        message: Option<Box<Message>>,
        /// The name of the model that is to answer, if not the usual one.
        model: Option<String>,
        tools: Option<Box<TurnTools>>,
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
    /// Who answers.
    endpoint: Endpoint,
    asked: mpsc::UnboundedReceiver<Asking>,
    stored: Stored,
    written: Written,
    statuses: Statuses,
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
            endpoint,
            asked,
            stored,
            written,
            statuses,
        } = begun;
        let (key, handle) = (self.key.clone(), turn.handle());
        let Some(its_turn) = handle.stored().cloned() else {
            return Ok(());
        };
        let _ = self.stands.set(its_turn.clone());
        let observer = self.setup.observed();
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
        let stands = Stands {
            key: &key,
            conversation: handle.revived_from(),
            statuses: &statuses,
            asks: &asks,
            written: &written,
            tools: &self.setup.tools,
        };
        let open = announce(stands, &mut writer, &mut rounds, &mut labels).await;
        let mut questions = Questions::default();
        for interrupt in asks {
            questions.ask_for_agent(interrupt, self.setup.expires());
        }
        let setup = Arc::clone(&self.setup);
        let drive = Drive {
            setup: &setup,
            endpoint: &endpoint,
            turn,
            writer: &mut writer,
            rounds,
            labels,
            questions,
            asked,
            cancel: self.cancel,
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
        };
        let (ending, usage) = match drive.run().await {
            Over::Ended(ending, usage) => (ending, usage),
            Over::Left => return writer.finish().await,
            Over::Rests(elsewhere) => {
                writer.finish().await?;
                self.setup.store.claim(&key, generation, elsewhere).await?;
                tracing::info!(target: "stepwell", turn = %key, "a turn waits for its user, and for no host");
                return Ok(());
            }
        };
        let usage = usage_since(usage, &TokenUsage::default(), Some(&endpoint));
        if let Some(notice) = ending.notice() {
            writer.append(notice).await;
        }
        let event = ending.event(&input(&key), usage);
        tracing::info!(target: "stepwell", turn = %key, end = event.kind(), "a turn is over");
        if let Some(observer) = observer {
            observer.ended(&event);
        }
        self.is_over.store(true, Ordering::Relaxed);
        writer.end(event).await
    }

    /// Who is to answer: the model of this name, or the usual one where it is offered no more.
    fn endpoint(&self, model: Option<&str>) -> &Endpoint {
        let DriverSetup {
            endpoint, offered, ..
        } = &*self.setup;
        let Some(wanted) = model else {
            return endpoint;
        };
        models::find(endpoint, offered, wanted).unwrap_or_else(|| {
            tracing::warn!(target: "stepwell", turn = %self.key, wanted, "a turn's model is offered no more: another one answers");
            endpoint
        })
    }

    /// Starts or revives the turn, and waits until it stands in the store. Nothing, if it does not come to that.
    async fn begin(&self, begin: Begin) -> Result<Option<Begun>, StoreError> {
        let key = &self.key;
        let (asking, asked) = mpsc::unbounded_channel();
        let setup = &self.setup;
        let (tools, model) = match &begin {
            Begin::Started { tools, model, .. } => (Ok(tools.clone()), model.clone()),
            Begin::Revived(claimed) => {
                let checkpoint = claimed.checkpoint.as_deref().unwrap_or_default();
                let tools = TurnTools::of_checkpoint(checkpoint, &setup.base, &setup.tools);
                let tools = tools.map(|tools| tools.map(Box::new));
                let tools = tools.map_err(|error| error.to_string());
                (tools, Kept::of(checkpoint).chosen_model)
            }
        };
        let endpoint = self.endpoint(model.as_deref()).clone();
        let its_tools = tools.as_ref().ok().and_then(Option::as_ref);
        let kept = kept(its_tools.map(|tools| &*tools.stored), model.as_deref());
        let laid_for = match &begin {
            Begin::Started { .. } => setup.elsewhere,
            Begin::Revived(_) => None,
        };
        let (store, stored) = watched(Arc::clone(&setup.store), key.clone(), kept, laid_for);
        let agent = tools.and_then(|tools| {
            let base = tools.map_or_else(|| setup.base.clone(), |tools| tools.base);
            let agent = self.agent(base, &endpoint, store, asking);
            agent.map_err(|error| error.to_string())
        });
        if let Err(error) = &agent {
            tracing::error!(target: "stepwell", turn = %key, error, "a turn cannot be set up");
        }
        let (turn, written, statuses) = match begin {
            Begin::Started {
                parent,
                message,
                begun,
                ..
            } => {
                let Ok(agent) = agent else {
                    let _ = begun.send(Err(EngineError::Internal));
                    return Ok(None);
                };
                let turn = self.start(&agent, parent, message);
                let is_there = self.stands(&turn).await;
                let refused = match is_there || stored.is_laid() {
                    true => None,
                    false => Some(refusal(turn.handle().store_trouble().borrow().clone())),
                };
                let _ = begun.send(refused.map_or(Ok(()), |error| Err(error.into())));
                if !is_there {
                    return Ok(None);
                }
                (turn, Written::default(), Statuses::default())
            }
            Begin::Revived(claimed) => {
                let written = event_writer::read(&self.setup.store, key, &self.leave).await?;
                let path = self.setup.store.path(key).await?;
                let checkpoint = claimed.checkpoint.as_deref().unwrap_or_default();
                let left = StoredTurn {
                    key: key.clone(),
                    generation: claimed.generation,
                };
                let revived = agent.and_then(|agent| {
                    let shown = written.messages();
                    let revived = agent.revive_claimed(left.clone(), checkpoint, &path, shown);
                    revived.map_err(|error| error.to_string())
                });
                let turn = match revived {
                    Ok(turn) => turn,
                    Err(error) => {
                        tracing::error!(target: "stepwell", turn = %key, error, "a turn cannot go on, and ends");
                        let is_cancelled = self.cancel.is_cancelled();
                        let (shown, leave) = (written.messages(), self.leave.clone());
                        lost_end::fail(&self.setup, left, is_cancelled, shown, leave).await?;
                        return Ok(None);
                    }
                };
                if !self.stands(&turn).await {
                    return Err(refusal(turn.handle().store_trouble().borrow().clone()));
                }
                (turn, written, Statuses::of_last(&path)?)
            }
        };
        Ok(Some(Begun {
            turn,
            endpoint,
            asked,
            stored,
            written,
            statuses,
        }))
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

    fn start(&self, agent: &Agent, parent: Parent, message: Option<Box<Message>>) -> Turn {
        let start = Start {
            run_id: self.key.turn.clone(),
            message: message.map(|message| *message),
            resume: Vec::new(),
            parent_run_id: None,
            options: TurnOptions::default(),
        };
        match parent {
            Parent::Latest => agent.start(start),
            Parent::Root => agent.branch(None, start),
            Parent::Turn(parent) => agent.branch(Some(parent), start),
        }
    }

    fn agent(
        &self,
        mut builder: AgentBuilder,
        endpoint: &Endpoint,
        store: Arc<dyn Store>,
        asking: mpsc::UnboundedSender<Asking>,
    ) -> Result<Agent, BuildError> {
        if let Some(instructions) = &self.setup.instructions {
            builder = builder.instructions(instructions);
        }
        if endpoint.dialect != Dialect::AgUi {
            let changes = session_state::changes(&self.setup.store, &self.key);
            builder = builder.handler(CHANGE_STATE, changes);
        }
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
            .build()
    }
}

/// What names the turn in its end.
pub(crate) fn input(key: &TurnKey) -> RunAgentInput {
    RunAgentInput {
        thread_id: key.thread.thread.clone(),
        run_id: key.turn.clone(),
        ..RunAgentInput::default()
    }
}

fn refusal(error: Option<StoreError>) -> StoreError {
    error.unwrap_or_else(|| StoreError::Other {
        message: "the turn could not be stored".to_owned(),
    })
}
