//! Sets up the agent of a turn.

use super::{BegunTurn, SessionTurn};
use crate::engine::Origin;
use crate::turn::agent::TurnAgent;
use crate::turn::asking::{Asking, Queue};
use crate::turn::brought::{Brought, Given, RunTerms};
use crate::turn::event_writer::Written;
use crate::turn::shared_state::{CHANGE_STATE, SharedState};
use crate::turn::stored::{Stored, watched};
use crate::turn::{models, session_state};
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::Durability;
use stepwell_io::config::Endpoint;
use stepwell_io::message::Transcript;
use stepwell_io::registry::SharedRegistry;
use stepwell_io::store::Store;
use stepwell_io::tool::ToolContext;
use stepwell_io::turn::TurnEvents;
use stepwell_io::{Agent, AgentBuilder, Conversation, RunId};
use tokio::sync::mpsc;

impl SessionTurn {
    /// Sets up the agent of the turn, and the store that it writes to. Returns `None` if that fails.
    pub(super) fn make(
        &self,
        brought: &Brought,
        base: Option<AgentBuilder>,
        origin: &Origin,
        laid_for: Option<&'static str>,
    ) -> Option<TurnSetup> {
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
                Some(terms) => in_run(builder, terms, state.as_ref()),
                None if endpoint.dialect == Dialect::AgUi => builder,
                None => {
                    let changes = session_state::changes(&self.setup.store, key);
                    builder.handler(CHANGE_STATE, changes)
                }
            };
            let agent = builder.build().map_err(|error| error.to_string())?;
            let conversation = agent.conversation(key.thread.clone());
            let history = terms.map(|_| history(state.as_ref(), origin));
            let conversation = match history {
                Some(history) => conversation.with_history(history),
                None => conversation,
            };
            Ok((agent, conversation))
        });
        let built = built.inspect_err(|error| {
            tracing::error!(target: "stepwell", turn = %key, error, "a turn cannot be set up");
        });
        let (agent_of_turn, conversation) = built.ok()?;
        Some(TurnSetup {
            agent: agent_of_turn,
            conversation,
            models: std::iter::once(endpoint)
                .chain(agent.other_endpoints().iter().cloned())
                .collect(),
            turn_agent: agent,
            asked,
            stored,
            state,
        })
    }

    /// Returns the endpoint of the model of this name, or the default one if the model is not offered any more.
    fn endpoint<'a>(&'a self, agent: &'a TurnAgent, model: Option<&str>) -> &'a Endpoint {
        let Some(wanted) = model else {
            return agent.endpoint();
        };
        models::find(agent.endpoint(), &self.setup.offered, wanted).unwrap_or_else(|| {
            tracing::warn!(target: "stepwell", turn = %self.key, wanted, "a turn's model is offered no more: another one answers");
            agent.endpoint()
        })
    }

    /// Returns the agent that runs the turn.
    fn turn_agent(&self) -> Option<Arc<TurnAgent>> {
        let continued = self.continued.as_ref();
        let brought = continued.and_then(|(continued, _)| continued.agent.clone());
        let own = || self.setup.agent.clone();
        brought.or_else(|| self.agent.clone()).or_else(own)
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
                // For the beginning of a turn, while a client waits.
                config.durability = Durability::Blocks { attempts };
                config.timeouts.approval = Some(interrupt_time);
                config.timeouts.deferred = Some(interrupt_time);
            })
            .registry(SharedRegistry::default())
            .approver(Queue(asking.clone()))
            .answerer(Queue(asking))
    }
}

/// The parts from which a turn is made.
pub(super) struct TurnSetup {
    pub(super) agent: Agent,
    pub(super) conversation: Conversation,
    turn_agent: Arc<TurnAgent>,
    /// The endpoints of the models that the turn may ask, the one that answers first.
    models: Vec<Endpoint>,
    asked: mpsc::UnboundedReceiver<Asking>,
    pub(super) stored: Stored,
    pub(super) state: Option<SharedState>,
}

impl TurnSetup {
    pub(super) fn begun(
        self,
        turn: TurnEvents,
        written: Written,
        path: Vec<stepwell_core::session::Turn>,
        terms: Option<RunTerms>,
    ) -> BegunTurn {
        BegunTurn {
            turn,
            agent: self.turn_agent,
            models: self.models,
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

/// Returns the conversation that a client posted with a run.
fn history(state: Option<&SharedState>, origin: &Origin) -> Transcript {
    let history = match origin {
        Origin::History(history) => (**history).clone(),
        Origin::Stored(..) => Transcript::default(),
    };
    match state {
        Some(state) => history.with_shared_state(state.value()),
        None => history,
    }
}

/// Gives an agent what a client posted with a run: its context and state.
fn in_run(builder: AgentBuilder, terms: &RunTerms, state: Option<&SharedState>) -> AgentBuilder {
    let builder = builder.configure(|config| {
        // The turn may have no host then: the check of resting turns ends it.
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
