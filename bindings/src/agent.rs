use crate::config::RunConfig;
use crate::effect::json;
use crate::error::StepwellError;
use crate::listener::Listener;
use crate::machine::conversation;
use crate::runtime::runtime;
use crate::task::{Runner, TaskRunner};
use crate::tool::{AgentTool, Approver, Asking, Handler};
use crate::turn::{Finished, Turn, batch, finish};
use std::sync::Arc;
use stepwell_core::run::{ContextPolicy, Durability, RunIds};
use stepwell_core::tool::Tool;
use stepwell_io::AgentBuilder;
use tokio::task::JoinHandle;

/// A conversation with a model and the app's tools, with the network inside. All work is done on threads of Stepwell's
/// own.
#[derive(Debug, uniffi::Object)]
pub struct Agent {
    agent: stepwell_io::Agent,
}

#[uniffi::export]
impl Agent {
    /// An agent with its tools.
    ///
    /// `approver` asks the person about the tools that need it; without one they are denied. `thread_id` is random if
    /// absent. `history_json` is an earlier conversation to go on with: a JSON array of AG-UI messages.
    #[uniffi::constructor(default(tools = [], approver = None, thread_id = None, history_json = "[]"))]
    pub fn new(
        config: RunConfig,
        tools: Vec<AgentTool>,
        approver: Option<Arc<dyn Approver>>,
        thread_id: Option<String>,
        history_json: &str,
    ) -> Result<Arc<Self>, StepwellError> {
        if let Some(tool) = config.tools.first() {
            return Err(StepwellError::configuration(
                &format!("the tool `{}` has no code", tool.name),
                "give the agent its tools as `tools`, each with its handler, and leave those of the configuration empty",
            ));
        }
        let mut builder = builder(config, thread_id, history_json)?;
        for AgentTool {
            definition,
            handler,
        } in tools
        {
            builder = builder.tool_handler(definition.try_into()?, Handler(handler));
        }
        if let Some(approver) = approver {
            builder = builder.approver(Asking(approver));
        }
        build(builder)
    }

    /// An agent whose tools, those of the configuration, and approvals are carried out by the app's own event loop.
    #[uniffi::constructor(default(thread_id = None, history_json = "[]"))]
    pub fn with_task_runner(
        mut config: RunConfig,
        runner: Arc<dyn TaskRunner>,
        thread_id: Option<String>,
        history_json: &str,
    ) -> Result<Arc<Self>, StepwellError> {
        let tools = std::mem::take(&mut config.tools);
        let mut builder = builder(config, thread_id, history_json)?;
        for definition in tools {
            let runner = Runner(Arc::clone(&runner));
            builder = builder.tool_handler(Tool::try_from(definition)?, runner);
        }
        build(builder.approver(Runner(runner)))
    }

    /// Says something to the model, and gives the turn to take events from. A turn that is still under way is cancelled
    /// first: the person has moved on.
    pub fn start_turn(&self, text: String) -> Result<Arc<Turn>, StepwellError> {
        Ok(Turn::new(self.begin(text)?))
    }

    /// Goes on with a stored turn: with what `Turn.rested` gave, in this process or a later one. What a deferred call
    /// comes to is then told to `Turn.finish_call`; the person is asked again what they had not answered. The turn's
    /// thread is that of the snapshot.
    pub fn revive(&self, snapshot: &str) -> Result<Arc<Turn>, StepwellError> {
        let _entered = runtime()?.enter();
        Ok(Turn::new(self.agent.revive(snapshot)?))
    }

    /// Says something to the model, tells the listener what happens, and waits for the end. A call that is given up
    /// cancels the turn.
    pub async fn send_to_listener(
        &self,
        text: String,
        listener: Arc<dyn Listener>,
    ) -> Result<Finished, StepwellError> {
        let mut turn = self.begin(text)?;
        let work = async move {
            loop {
                let events = batch(&mut turn).await;
                if events.is_empty() {
                    return finish(turn).await;
                }
                let listener = Arc::clone(&listener);
                // Its code may block, and does in languages with a lock around all of theirs.
                let told = tokio::task::spawn_blocking(move || listener.on_events(events)).await;
                match told {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        tracing::warn!(target: "stepwell", %error, "the listener failed");
                    }
                    Err(error) => {
                        tracing::warn!(target: "stepwell", %error, "the listener broke off");
                    }
                }
            }
        };
        let mut task = AbortOnDrop(runtime()?.spawn(work));
        (&mut task.0)
            .await
            .unwrap_or_else(|error| Err(StepwellError::broken(&error)))
    }

    /// Cancels the turn under way, if there is one.
    pub fn cancel(&self) {
        self.agent.cancel();
    }

    /// The app goes to the background; see `DevicePolicy`. Like the following three, it concerns the turn under way and
    /// those that begin later.
    pub fn entered_background(&self) {
        self.agent.entered_background();
    }

    /// The app is in the foreground again.
    pub fn entered_foreground(&self) {
        self.agent.entered_foreground();
    }

    /// The network is gone.
    pub fn network_lost(&self) {
        self.agent.network_lost();
    }

    /// There is a network, or another one took the place of the one before.
    pub fn network_available(&self) {
        self.agent.network_available();
    }

    /// The conversation's id.
    pub fn thread_id(&self) -> String {
        self.agent.thread_id().to_string()
    }

    /// The conversation as it was after the last turn: a JSON array of AG-UI messages, oldest first.
    pub fn messages_json(&self) -> String {
        json(&self.agent.conversation().messages())
    }

    /// All that the model said since the person's last message.
    pub fn text(&self) -> String {
        self.agent.conversation().text()
    }
}

impl Agent {
    fn begin(&self, text: String) -> Result<stepwell_io::Turn, StepwellError> {
        let _entered = runtime()?.enter();
        Ok(self.agent.send(text))
    }
}

/// A task that nobody waits for any more is stopped.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn builder(
    config: RunConfig,
    thread_id: Option<String>,
    history_json: &str,
) -> Result<AgentBuilder, StepwellError> {
    let history = conversation(history_json, "{}")?;
    let config = config.into_core()?;
    if config.durability != Durability::None || config.run_ids != RunIds::Derived {
        return Err(StepwellError::configuration(
            &"an `Agent` has no store and no source of runs",
            "leave `durability` and `run_ids` out, or drive a `RunMachine`",
        ));
    }
    if config.context.at_limit == ContextPolicy::Trim {
        return Err(StepwellError::configuration(
            &"an `Agent` cannot ask the app what to leave out",
            "take another policy for a full context, or drive a `RunMachine`",
        ));
    }
    let mut builder = stepwell_io::Agent::builder(config.endpoint.clone())
        .configure(move |settings| *settings = config)
        .history(history);
    if let Some(thread_id) = thread_id {
        builder = builder.thread_id(thread_id);
    }
    Ok(builder)
}

fn build(builder: AgentBuilder) -> Result<Arc<Agent>, StepwellError> {
    let agent = builder.build().map_err(|error| match error {
        stepwell_io::BuildError::Tool(error) => error.into(),
        other => StepwellError::Unavailable {
            reason: other.to_string(),
            advice: "look at the system's certificates and proxies".to_owned(),
        },
    })?;
    Ok(Arc::new(Agent { agent }))
}
