use crate::app::asking::Asking;
#[cfg(feature = "aws")]
use crate::app::aws::AwsCredentialSource;
use crate::app::credentials::CredentialSource;
use crate::app::hooks::HookHandler;
use crate::app::instructions::InstructionsSource;
use crate::app::journal::JournalSink;
use crate::app::model_choice::ModelChooser;
use crate::app::observer::MakeObserver;
use crate::app::output::OutputDecoder;
use crate::app::run_source::RunSource;
use crate::app::tools::context::Deps;
use crate::app::tools::fault::OnToolError;
use crate::app::tools::handler::Handlers;
use crate::app::trim::Trimmer;
use crate::http::HttpClient;
use crate::model_health::ModelHealth;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use stepwell_core::run::RunConfig;

/// The code of the agent's hooks, by their names.
pub(crate) type HookHandlers = HashMap<String, Arc<dyn HookHandler>>;

/// The configuration and the app's code that all turns of an agent share.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) config: Arc<RunConfig>,
    pub(crate) handlers: Handlers,
    pub(crate) asking: Asking,
    pub(crate) deps: Option<Deps>,
    pub(crate) run_source: Option<Arc<dyn RunSource>>,
    pub(crate) trimmer: Option<Arc<dyn Trimmer>>,
    pub(crate) chooser: Option<Arc<dyn ModelChooser>>,
    pub(crate) health: ModelHealth,
    pub(crate) decoder: Option<Arc<dyn OutputDecoder>>,
    pub(crate) credentials: Option<Arc<dyn CredentialSource>>,
    #[cfg(feature = "aws")]
    pub(crate) aws: Option<Arc<dyn AwsCredentialSource>>,
    pub(crate) hooks: HookHandlers,
    pub(crate) instructions: Option<Arc<dyn InstructionsSource>>,
    pub(crate) journal: Option<Arc<dyn JournalSink>>,
    pub(crate) observer: Option<MakeObserver>,
    pub(crate) client: HttpClient,
    pub(crate) on_tool_error: OnToolError,
    /// Whether the spans hold the content of the conversation.
    pub(crate) traces_content: bool,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("endpoint", &self.config.endpoint)
            .finish_non_exhaustive()
    }
}
