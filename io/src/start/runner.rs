//! An agent and one thread: what begins turns.

use crate::app::setup::Setup;
use crate::app::tools::handler::Handlers;
use crate::base::lock;
use crate::definition::parts::AgentParts;
use crate::durable::StoreSetup;
use crate::threads::{KnownTranscript, Thread};
use std::fmt;
use std::sync::Arc;
use stepwell_core::run::{RunConfig, Start};
use stepwell_core::transcript::Transcript;

/// An agent, and the thread on which it begins turns.
#[derive(Clone)]
pub(crate) struct Runner {
    pub(crate) agent: AgentParts,
    pub(crate) thread: Arc<Thread>,
    is_out_of_reach: bool,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("thread", &self.thread.key)
            .finish_non_exhaustive()
    }
}

impl Runner {
    pub(crate) fn new(agent: AgentParts, thread: Arc<Thread>) -> Self {
        Self {
            agent,
            thread,
            is_out_of_reach: false,
        }
    }

    /// Returns the configuration, without the tools of the agent's sources.
    pub(crate) fn config(&self) -> &Arc<RunConfig> {
        &self.agent.shared.base(self.is_stored()).config
    }

    fn is_stored(&self) -> bool {
        self.thread.among.stored.is_some()
    }

    /// Returns the transcript as this process knows it.
    pub(crate) fn transcript(&self) -> Transcript {
        lock(&self.thread.known).transcript.clone()
    }

    /// Sets the transcript of a thread that has none yet.
    pub(crate) fn set_history(&self, history: Transcript) {
        let mut known = lock(&self.thread.known);
        let KnownTranscript { transcript, last } = &mut *known;
        if last.is_none() && transcript.messages().is_empty() {
            *transcript = history;
        }
    }

    /// Returns the store of the thread.
    pub(crate) fn stored(&self) -> Option<StoreSetup> {
        let stored = self.thread.among.stored.clone()?;
        Some(self.agent.with_its_code(stored))
    }

    /// Returns the setup of a turn that begins now.
    pub(crate) fn turn_setup(&self) -> Arc<Setup> {
        let mut setup = self.agent.turn_setup(self.is_stored());
        if self.is_out_of_reach {
            Arc::make_mut(&mut setup).asking.or_deny();
        }
        setup
    }

    /// Returns the same for a turn that nothing outside of it can reach: nobody could answer what it waits for.
    pub(crate) fn out_of_reach(mut self) -> Self {
        self.is_out_of_reach = true;
        self
    }

    /// Returns the setup of a turn that begins now, with the turn's own tools.
    pub(crate) fn turn_setup_for(&self, start: &Start, handlers: Handlers) -> Arc<Setup> {
        let setup = self.turn_setup();
        let own = start.options.tools.definitions();
        if own.is_empty() {
            return setup;
        }
        let mut setup = Setup::clone(&setup);
        if let Some(code) = &self.agent.code {
            let names = own.iter().map(|tool| tool.name.clone());
            let tools = names.map(|name| (name, Arc::clone(&code.tools)));
            setup.handlers.extend(tools);
        }
        setup.handlers.extend(handlers);
        Arc::new(setup)
    }
}
