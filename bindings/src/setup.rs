//! The setup of an agent, in addition to its configuration.

use crate::config::{CompactionWay, ContextPolicy, Credentials, ModelChoice, RunConfig, RunIds};
use crate::credentials::{self, CredentialSource};
use crate::error::StepwellError;
use crate::hook::AgentHook;
use crate::instructions::{Instructing, InstructionsSource};
use crate::journal::{JournalSink, Sink};
use crate::model_choice::{Choosing, ModelChooser};
use crate::output::{Decoding, OutputDecoder};
use crate::registry::RunRegistry;
use crate::run_source::{RunSource, Source};
use crate::store::StoreSetup;
use crate::tool::{AgentTool, Answerer, Approver, Asking, Handler, answered};
use crate::trace;
use crate::transport::HttpTransport;
use crate::trim::{Trimmer, Trimming};
use std::sync::Arc;
use stepwell_core::run::Durability;
use stepwell_io::{AgentBuilder, HttpClient};

/// The setup of an `Agent`, in addition to its configuration: the app's code, and the store.
#[derive(Clone, Default, uniffi::Record)]
pub struct AgentSetup {
    /// The tools, each with its code.
    #[uniffi(default)]
    pub tools: Vec<AgentTool>,
    /// Asks the user to approve the tools that need it; without an approver their calls wait, and are listed by
    /// `Turn.pending`.
    #[uniffi(default = None)]
    pub approver: Option<Arc<dyn Approver>>,
    /// Asks the user the questions of running tools; without an answerer the questions wait, and are
    /// listed by `Turn.pending`.
    #[uniffi(default = None)]
    pub answerer: Option<Arc<dyn Answerer>>,
    /// What happens if a tool fails or breaks off: the model is told if absent.
    #[uniffi(default = None)]
    pub on_tool_error: Option<OnToolError>,
    /// Where the turns are kept. A thread of the store continues from its stored turns.
    #[uniffi(default = None)]
    pub store: Option<StoreSetup>,
    /// Takes the journals of the turns, for `replay_journal`.
    #[uniffi(default = None)]
    pub journal: Option<Arc<dyn JournalSink>>,
    /// Sends the requests with the app's own HTTP stack. If absent, Stepwell has connections of its own.
    #[uniffi(default = None)]
    pub client: Option<Arc<dyn HttpTransport>>,
    /// Creates the runs of the hops, for a backend that makes their ids. If absent, the agent makes the ids.
    #[uniffi(default = None)]
    pub run_source: Option<Arc<dyn RunSource>>,
    /// Shortens a conversation that no longer fits the model's context. If absent, such a turn fails.
    #[uniffi(default = None)]
    pub trim_context: Option<Arc<dyn Trimmer>>,
    /// Chooses the model of each hop among the configuration's own and those of its `fallback`. If absent, their order does.
    #[uniffi(default = None)]
    pub model_for: Option<Arc<dyn ModelChooser>>,
    /// Decodes the typed answers, where `OutputType.decoded_by_host` says so.
    #[uniffi(default = None)]
    pub output_decoder: Option<Arc<dyn OutputDecoder>>,
    /// Supplies the key and the headers of each request, for tokens that expire. If absent, they are those of the
    /// configuration.
    #[uniffi(default = None)]
    pub credentials: Option<Arc<dyn CredentialSource>>,
    /// The hooks, each with its code, in the order in which they are asked.
    #[uniffi(default)]
    pub hooks: Vec<AgentHook>,
    /// Makes the instructions of each turn. If absent, they are those of the configuration.
    #[uniffi(default = None)]
    pub instructions_from: Option<Arc<dyn InstructionsSource>>,
    /// Which threads have a turn under way, and what is unread: a registry that was stored, or that several agents
    /// share. If absent, the agent has a registry of its own.
    #[uniffi(default = None)]
    pub registry: Option<Arc<RunRegistry>>,
}

/// What happens if a tool fails or breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum OnToolError {
    /// The model is told, and continues: the text of an error that the tool reported, and of an exception only that the
    /// tool failed.
    TellModel,
    /// The model is told, and continues: with the text of an exception too, which may hold addresses, queries and
    /// secrets.
    ShowModel,
    /// The turn fails with `ToolFailed`, and the model is not told: for tests, in which a tool's error is the
    /// developer's to see.
    Fail,
}

impl From<OnToolError> for stepwell_io::OnToolError {
    fn from(policy: OnToolError) -> Self {
        match policy {
            OnToolError::TellModel => Self::TellModel,
            OnToolError::ShowModel => Self::ShowModel,
            OnToolError::Fail => Self::Fail,
        }
    }
}

impl AgentSetup {
    /// Returns the builder of an agent from the setup; `client` replaces the setup's client.
    pub(crate) fn builder(
        self,
        config: RunConfig,
        client: HttpClient,
    ) -> Result<AgentBuilder, StepwellError> {
        let mut config = config;
        if self.credentials.is_some() {
            config.credentials = Some(Credentials::Host);
        }
        let config = config.into_core()?;
        if config.durability != Durability::None && self.store.is_none() {
            return Err(StepwellError::configuration(
                &"the agent has no store to keep its turns in",
                "give it a `store`, or leave `persist_attempts` out",
            ));
        }
        let mut builder = stepwell_io::Agent::builder(config.endpoint.clone())
            .client(client)
            .trace_content(trace::tells_content())
            .configure(move |settings| *settings = config);
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
        if let Some(answerer) = self.answerer {
            let ask =
                move |invocation, question| answered(Arc::clone(&answerer), invocation, question);
            builder = builder.answerer(ask);
        }
        if let Some(policy) = self.on_tool_error {
            builder = builder.on_tool_error(policy.into());
        }
        if let Some(source) = self.run_source {
            builder = builder.run_source(Source(source));
        }
        if let Some(trimmer) = self.trim_context {
            builder = builder.trim_context(Trimming(trimmer));
        }
        if let Some(chooser) = self.model_for {
            builder = builder.model_for(Choosing(chooser));
        }
        if let Some(decoder) = self.output_decoder {
            builder = builder.output_decoder(Decoding(decoder));
        }
        if let Some(source) = self.credentials {
            builder = builder.credentials(credentials::Credentials(source));
        }
        for hook in self.hooks {
            builder = builder.hook(hook.into());
        }
        if let Some(source) = self.instructions_from {
            builder = builder.instructions_from(Instructing(source));
        }
        if let Some(registry) = self.registry {
            builder = builder.registry(registry.shared());
        }
        Ok(builder)
    }

    /// Checks that the setup has the code that the configuration needs; an agent for runners gets the code from them.
    pub(crate) fn has_code_for(&self, config: &RunConfig) -> Result<(), StepwellError> {
        if let Some(tool) = config.tools.first() {
            return Err(StepwellError::configuration(
                &format!("the tool `{}` has no code", tool.name),
                "give the agent its tools in its setup, each with its handler, and leave those of the configuration empty",
            ));
        }
        if config.run_ids == Some(RunIds::Host) && self.run_source.is_none() {
            return Err(StepwellError::configuration(
                &"the agent has no source of runs",
                "give it a `run_source`, or leave `run_ids` out",
            ));
        }
        if config.credentials == Some(Credentials::Host) && self.credentials.is_none() {
            return Err(StepwellError::configuration(
                &"the agent has no source of credentials",
                "give it `credentials`, or leave those of the configuration out",
            ));
        }
        if let Some(hook) = config.hooks.first() {
            return Err(StepwellError::configuration(
                &format!("the hook `{}` has no code", hook.name),
                "give the agent its hooks in its setup, each with its code, and leave those of the configuration empty",
            ));
        }
        let at_limit = config.context_guard.at_limit;
        if at_limit == Some(ContextPolicy::Trim) && self.trim_context.is_none() {
            return Err(StepwellError::configuration(
                &"the agent has no code that says what to leave out of a full context",
                "give it a `trim_context`, or take another policy",
            ));
        }
        let mut ways = config.compaction.ways.iter();
        if ways.any(|way| matches!(way, CompactionWay::Host)) && self.trim_context.is_none() {
            return Err(StepwellError::configuration(
                &"the agent has no code that compacts a conversation",
                "give it a `trim_context`, or leave the way of the host out of `compaction`",
            ));
        }
        if config.fallback.choice == Some(ModelChoice::Host) && self.model_for.is_none() {
            return Err(StepwellError::configuration(
                &"the agent has no code that chooses the models of hops",
                "give it a `model_for`, or leave `choice` out",
            ));
        }
        let is_decoded = config
            .output
            .as_ref()
            .is_some_and(|output| output.decoded_by_host);
        if is_decoded && self.output_decoder.is_none() {
            return Err(StepwellError::configuration(
                &"the agent has no code that decodes its typed answers",
                "give it an `output_decoder`, or leave `decoded_by_host` out",
            ));
        }
        Ok(())
    }

    /// Returns a field that is set although an agent for runners cannot have it, because its runners do that work.
    pub(crate) fn of_runners(&self) -> Option<&'static str> {
        let given = [
            ("tools", !self.tools.is_empty()),
            ("approver", self.approver.is_some()),
            ("answerer", self.answerer.is_some()),
            ("client", self.client.is_some()),
            ("run_source", self.run_source.is_some()),
            ("trim_context", self.trim_context.is_some()),
            ("model_for", self.model_for.is_some()),
            ("output_decoder", self.output_decoder.is_some()),
            ("credentials", self.credentials.is_some()),
            ("hooks", !self.hooks.is_empty()),
            ("instructions_from", self.instructions_from.is_some()),
        ];
        let is_given = |(_, is_given): &&(_, bool)| *is_given;
        given.iter().find(is_given).map(|(field, _)| *field)
    }
}
