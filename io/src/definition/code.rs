//! The app's code that belongs to a turn instead of the agent.

use crate::app::answerer::Answerer;
use crate::app::approver::Approver;
use crate::app::credentials::CredentialSource;
use crate::app::hooks::HookHandler;
use crate::app::instructions::InstructionsSource;
use crate::app::model_choice::ModelChooser;
use crate::app::output::OutputDecoder;
use crate::app::run_source::RunSource;
use crate::app::setup::Setup;
use crate::app::tools::handler::ToolHandler;
use crate::app::trim::Trimmer;
use crate::durable::StoreSetup;
use crate::http::HttpClient;
use crate::store::TurnStore;
use std::fmt;
use std::sync::Arc;
use stepwell_core::tool::ToolRegistry;

/// The app's code for the turns that are begun with [`Agent::with_code`](crate::Agent::with_code). Where a field is
/// `None`, the agent's own code is used.
#[derive(Clone)]
pub struct TurnCode {
    /// Runs all tools that the agent was built with. The tools of its sources have their own code.
    pub tools: Arc<dyn ToolHandler>,
    /// Asks the user whether a tool may run.
    pub approver: Option<Arc<dyn Approver>>,
    /// Asks the user the questions of running tools.
    pub answerer: Option<Arc<dyn Answerer>>,
    /// Reaches the agent's store, if that is the app's code too. `None` for an agent without a store.
    pub store: Option<Arc<dyn TurnStore>>,
    /// Sends the turn's requests, if that is the app's code too.
    pub client: Option<HttpClient>,
    /// Creates the runs of the turn's hops, where [`RunIds::Host`](stepwell_core::run::RunIds::Host) says that a
    /// backend does.
    pub run_source: Option<Arc<dyn RunSource>>,
    /// Shortens a conversation that does not fit the model's context, where
    /// [`ContextPolicy::Trim`](stepwell_core::run::ContextPolicy::Trim) says so.
    pub trimmer: Option<Arc<dyn Trimmer>>,
    /// Chooses the model of each hop, where [`ModelChoice::Host`](stepwell_core::run::ModelChoice::Host) says so.
    pub chooser: Option<Arc<dyn ModelChooser>>,
    /// Decodes the typed answer, where
    /// [`OutputType::decoded_by_host`](stepwell_core::tool::OutputType::decoded_by_host) says so.
    pub decoder: Option<Arc<dyn OutputDecoder>>,
    /// Gives the key and the headers of the turn's requests, where
    /// [`Credentials::Host`](stepwell_core::run::Credentials::Host) says so.
    pub credentials: Option<Arc<dyn CredentialSource>>,
    /// Runs the hooks of the agent's configuration.
    pub hooks: Option<Arc<dyn HookHandler>>,
    /// Makes the turn's instructions.
    pub instructions: Option<Arc<dyn InstructionsSource>>,
}

impl fmt::Debug for TurnCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnCode").finish_non_exhaustive()
    }
}

impl TurnCode {
    /// Returns the setup with this code; `own` are the tools that the agent was built with.
    pub(crate) fn put_into(&self, setup: &Setup, own: &ToolRegistry) -> Setup {
        let mut setup = setup.clone();
        for tool in own.definitions() {
            let tools = Arc::clone(&self.tools);
            setup.handlers.insert(tool.name.clone(), tools);
        }
        if let Some(approver) = &self.approver {
            setup.asking.approver = Some(Arc::clone(approver));
        }
        if let Some(answerer) = &self.answerer {
            setup.asking.answerer = Some(Arc::clone(answerer));
        }
        if let Some(client) = &self.client {
            setup.client = client.clone();
        }
        if let Some(source) = &self.run_source {
            setup.run_source = Some(Arc::clone(source));
        }
        if let Some(trimmer) = &self.trimmer {
            setup.trimmer = Some(Arc::clone(trimmer));
        }
        if let Some(chooser) = &self.chooser {
            setup.chooser = Some(Arc::clone(chooser));
        }
        if let Some(decoder) = &self.decoder {
            setup.decoder = Some(Arc::clone(decoder));
        }
        if let Some(credentials) = &self.credentials {
            setup.credentials = Some(Arc::clone(credentials));
        }
        if let Some(handler) = &self.hooks {
            for hook in &setup.config.hooks {
                setup.hooks.insert(hook.name.clone(), Arc::clone(handler));
            }
        }
        if let Some(instructions) = &self.instructions {
            setup.instructions = Some(Arc::clone(instructions));
        }
        setup
    }

    pub(crate) fn store_of(&self, stored: StoreSetup) -> StoreSetup {
        match &self.store {
            Some(store) => StoreSetup {
                store: Arc::clone(store),
                ..stored
            },
            None => stored,
        }
    }
}
