//! What a client asks for with a run, made ready to be run.

use crate::request::trust::{self, CONTEXT_ID, ClientTrust};
use crate::request::{Refused, RefusedReason};
use crate::turn::agent::{TurnAgent, UnusableTurnTools};
use crate::turn::brought::{Brought, RunTerms};
use crate::ui_message::ChatRequest;
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::dialect::{ClientVersion, Dialect};
use stepwell_core::event::{Message, ResumeEntry, RunAgentInput, ToolMessage};
use stepwell_core::{MessageId, ToolCallId};
use stepwell_io::tool::{ToolFailure, ToolOutput, ToolResult};
use stepwell_io::{AgentBuilder, RunId};

/// A run that can begin, or continue a turn that waits.
#[derive(Debug)]
pub struct PreparedRun {
    pub(crate) agent: Arc<TurnAgent>,
    /// The agent that the turn's agent is built from, with the client's tools.
    pub(crate) base: AgentBuilder,
    /// The conversation as the model is sent it.
    pub(crate) history: Vec<Message>,
    pub(crate) brought: Brought,
    pub(crate) terms: RunTerms,
    pub(crate) version: ClientVersion,
    pub(crate) resume: Vec<ResumeEntry>,
    /// The results of the client's tools since the last message of the user or the model.
    pub(crate) results: Vec<(ToolCallId, ToolResult)>,
    /// The run that the client resumes; the thread's latest if the id is empty.
    pub(crate) reattach: Option<RunId>,
    /// Whether requests carry the complete conversation again: a compaction by an earlier run is undone.
    pub(crate) whole_history: bool,
    /// Whether the user has sent a new message, which leaves earlier questions unanswered.
    pub(crate) is_new: bool,
}

impl PreparedRun {
    /// Prepares what an AG-UI client asks for. `trust` decides whether the client may give the model instructions.
    ///
    /// # Errors
    /// A tool of the client's cannot be offered.
    pub fn new(
        agent: &Arc<TurnAgent>,
        input: RunAgentInput,
        trust: ClientTrust,
    ) -> Result<Self, Refused> {
        let state = agent
            .can_share_state()
            .then(|| input.state.clone().unwrap_or_else(|| json!({})));
        Self::of(agent, input, state, None, trust)
    }

    /// Reads what a chat of the AI SDK asks for, which shares no state.
    ///
    /// # Errors
    /// A tool of the client's cannot be offered.
    pub fn chat(
        agent: &Arc<TurnAgent>,
        request: ChatRequest,
        trust: ClientTrust,
    ) -> Result<Self, Refused> {
        let message = Some(MessageId::from(request.message_id));
        let prepared = Self::of(agent, request.input, None, message, trust)?;
        Ok(Self {
            is_new: request.is_new,
            ..prepared
        })
    }

    fn of(
        agent: &Arc<TurnAgent>,
        input: RunAgentInput,
        state: Option<Value>,
        message: Option<MessageId>,
        trust: ClientTrust,
    ) -> Result<Self, Refused> {
        let mut history = trust::messages(&input, trust);
        let results = results(&history);
        let is_ag_ui = agent.endpoint().dialect == Dialect::AgUi;
        let situation = match is_ag_ui {
            // An AG-UI agent receives the client's own context and state.
            true => None,
            false => trust::instructions(&mut history, &input, state.as_ref(), trust),
        };
        let client_tools = input.tools.unwrap_or_default();
        let base = agent.with_tools(state.is_some(), &client_tools)?;
        let forwarded = match input.forwarded_props {
            Some(Value::Object(props)) => props,
            _ => Default::default(),
        };
        let reattach = forwarded.get("reattach").and_then(Value::as_str);
        let reattach = reattach.map(RunId::from);
        let is_set = |name: &str| forwarded.get(name) == Some(&Value::Bool(true));
        let is_background = is_set("background");
        let whole_history = is_set("wholeHistory");
        let (context, forwarded_props) = match is_ag_ui {
            true => (input.context.unwrap_or_default(), forwarded),
            false => Default::default(),
        };
        let terms = RunTerms {
            id: input.run_id,
            parent: input.parent_run_id,
            message,
            state,
            situation,
            context,
            forwarded_props,
            is_background,
        };
        Ok(Self {
            agent: Arc::clone(agent),
            base,
            history,
            brought: Brought {
                client_tools,
                ..Brought::default()
            },
            terms,
            version: ClientVersion::declared(input.protocol_version.as_deref()),
            resume: input.resume.unwrap_or_default(),
            results,
            reattach,
            whole_history,
            is_new: false,
        })
    }

    /// The run's id.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.terms.id
    }

    /// Returns whether the client asks to continue a turn that waits.
    pub(crate) fn goes_on(&self) -> bool {
        !self.resume.is_empty() || !self.results.is_empty()
    }

    /// Returns the messages that the client sends beyond `history`; `None` if `history` is not what they begin with.
    pub(crate) fn beyond(&self, history: &[Message]) -> Option<Vec<MessageId>> {
        // A message that is added on the client's behalf has a new id each time.
        let own = |messages: &[Message]| -> Vec<MessageId> {
            let ids = messages.iter().map(Message::id);
            let ids = ids.filter(|id| !id.as_str().starts_with(CONTEXT_ID));
            ids.cloned().collect()
        };
        let more = own(&self.history);
        Some(more.strip_prefix(&*own(history))?.to_vec())
    }

    /// Returns what is kept with the turn.
    pub(crate) fn brought(&self) -> Brought {
        Brought {
            run: Some(self.terms.clone()),
            ..self.brought.clone()
        }
    }
}

/// Returns the results of tools at the end of the conversation.
fn results(messages: &[Message]) -> Vec<(ToolCallId, ToolResult)> {
    let last = messages.iter().rev().map_while(|message| match message {
        Message::Tool(message) => Some((message.tool_call_id.clone(), result(message))),
        _ => None,
    });
    let mut results: Vec<_> = last.collect();
    results.reverse();
    results
}

fn result(message: &ToolMessage) -> ToolResult {
    match &message.error {
        Some(error) => Err(ToolFailure::error(error)),
        None => Ok(ToolOutput {
            content: message.content.clone(),
        }),
    }
}

impl From<UnusableTurnTools> for Refused {
    fn from(error: UnusableTurnTools) -> Self {
        match error {
            UnusableTurnTools::TooLong { .. } => {
                Self::new(RefusedReason::InvalidInput, error.to_string())
            }
            UnusableTurnTools::Unusable(error) => Self::from(error),
        }
    }
}
