//! What an agent is given beside its configuration.

use crate::config::RunConfig;
use crate::error::StepwellError;
use crate::journal::{JournalSink, Sink};
use crate::machine::conversation;
use crate::store::StoreSetup;
use crate::tool::{AgentTool, Approver, Asking, Handler};
use crate::transport::HttpTransport;
use std::sync::Arc;
use stepwell_core::run::{ContextPolicy, Durability, RunIds};
use stepwell_io::{AgentBuilder, HttpClient};

/// What an `Agent` is given beside its configuration: the app's code, and what the conversation begins with.
#[derive(Clone, Default, uniffi::Record)]
pub struct AgentSetup {
    /// The tools, each with its code. Those of an agent for runners are in its configuration.
    #[uniffi(default)]
    pub tools: Vec<AgentTool>,
    /// Asks the user about the tools that need it; without one they are denied.
    #[uniffi(default = None)]
    pub approver: Option<Arc<dyn Approver>>,
    /// The conversation's id; a random one if absent.
    #[uniffi(default = None)]
    pub thread_id: Option<String>,
    /// An earlier conversation to go on with: a JSON array of AG-UI messages, oldest first.
    #[uniffi(default = None)]
    pub history_json: Option<String>,
    /// The state shared with an AG-UI agent: any JSON.
    #[uniffi(default = None)]
    pub shared_state_json: Option<String>,
    /// Where the turns are kept. A thread that it has goes on from what it has.
    #[uniffi(default = None)]
    pub store: Option<StoreSetup>,
    /// Takes the journals of the turns, for `replay_journal`.
    #[uniffi(default = None)]
    pub journal: Option<Arc<dyn JournalSink>>,
    /// Sends the requests with the app's own HTTP stack. Stepwell has connections of its own if absent.
    #[uniffi(default = None)]
    pub client: Option<Arc<dyn HttpTransport>>,
}

impl AgentSetup {
    /// The builder of an agent with all of it but the client, which is given.
    pub(crate) fn builder(
        self,
        config: RunConfig,
        client: HttpClient,
    ) -> Result<AgentBuilder, StepwellError> {
        let history = self.history_json.as_deref().unwrap_or("[]");
        let shared_state = self.shared_state_json.as_deref().unwrap_or("{}");
        let history = conversation(history, shared_state)?;
        let config = config.into_core()?;
        if config.durability != Durability::None && self.store.is_none() {
            return Err(StepwellError::configuration(
                &"the agent has no store to keep its turns in",
                "give it a `store`, or leave `persist_attempts` out",
            ));
        }
        if config.run_ids != RunIds::Derived {
            return Err(StepwellError::configuration(
                &"an `Agent` has no source of runs",
                "leave `run_ids` out, or drive a `RunMachine`",
            ));
        }
        if config.context_guard.at_limit == ContextPolicy::Trim {
            return Err(StepwellError::configuration(
                &"an `Agent` cannot ask the app what to leave out",
                "take another policy for a full context, or drive a `RunMachine`",
            ));
        }
        let mut builder = stepwell_io::Agent::builder(config.endpoint.clone())
            .client(client)
            .configure(move |settings| *settings = config)
            .history(history);
        if let Some(thread_id) = self.thread_id {
            builder = builder.thread_id(thread_id);
        }
        if let Some(setup) = self.store {
            builder = builder.store(setup.store.inner());
            if setup.waits {
                builder = builder.wait_for_store();
            }
        }
        if let Some(journal) = self.journal {
            builder = builder.journal(Sink(journal));
        }
        for AgentTool {
            definition,
            handler,
        } in self.tools
        {
            builder = builder.tool_handler(definition.try_into()?, Handler(handler));
        }
        if let Some(approver) = self.approver {
            builder = builder.approver(Asking(approver));
        }
        Ok(builder)
    }

    /// What of it an agent for runners is not given, since its runners do it.
    pub(crate) fn of_runners(&self) -> Option<&'static str> {
        if !self.tools.is_empty() {
            Some("tools")
        } else if self.approver.is_some() {
            Some("approver")
        } else if self.client.is_some() {
            Some("client")
        } else {
            None
        }
    }
}
