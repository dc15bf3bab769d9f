use super::format::{FormattedResult, ResultFormatter};
use crate::event::{Message, TextualMessage};
use crate::run::{NEARLY_FULL, SessionError, StoredTurn as Turn, replay};
use crate::transcript::Transcript;
use crate::transcript::token_estimate;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Builds the history for the next turn from the stored turns before it.
///
/// The history equals the conversation that the live runs left, so the next request is the same. This includes turns that
/// failed, were cancelled or cut off. A turn that is unfinished in the store contributes its stored part, with a result for
/// each call that has none.
///
/// ```
/// # use stepwell_core::Timestamp;
/// # use stepwell_core::event::Message;
/// # use stepwell_core::run::{Attached, Block, BlockContent, TurnStatus};
/// # use stepwell_core::session::Turn;
/// use stepwell_core::session::{MessageBuilder, TurnTree};
///
/// # let content = BlockContent::Text {
/// #     message_id: "m".into(),
/// #     text: "Hi!".to_owned(),
/// #     attached: Attached::default(),
/// # };
/// # let block = Block { sequence: 0, hop: 0, content };
/// # let turns = vec![Turn {
/// #     id: "run-1".into(),
/// #     parent: None,
/// #     history: None,
/// #     message: Some(Message::user("user-1", "Hello")),
/// #     status: TurnStatus::Complete,
/// #     outcome: None,
/// #     created_at: Timestamp(0),
/// #     updated_at: Timestamp(0),
/// #     blocks: vec![stepwell_core::session::TurnBlock { block, at: Timestamp(0) }],
/// # }];
/// // … load the turns of a thread …
/// let tree = TurnTree::new(turns)?;
/// let transcript = MessageBuilder::new().transcript(tree.shown())?;
/// assert_eq!(transcript.text(), "Hi!");
/// // … and give it to the next run: `RunMachine::new(config, thread_id, conversation)`.
/// # Ok::<(), stepwell_core::session::SessionError>(())
/// ```
#[derive(Clone, Default)]
pub struct MessageBuilder {
    formatters: BTreeMap<String, Arc<ResultFormatter>>,
    budget: Option<TokenBudget>,
    keeps_open_calls: bool,
}

/// The length of a history at which the model is warned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBudget {
    /// The number of tokens for the history.
    pub tokens: u64,
    /// The share of it at which the model is warned: 0.8 is four fifths.
    pub warn_at: f64,
}

/// The id of the message that warns the model.
const WARNING: &str = "stepwell-token-limit";

impl fmt::Debug for MessageBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageBuilder")
            .field("formatters", &self.formatters.keys())
            .field("budget", &self.budget)
            .field("keeps_open_calls", &self.keeps_open_calls)
            .finish()
    }
}

impl MessageBuilder {
    /// Creates a builder that changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Formats the results of the tool of this name for the model: shorter than when they were new, for example.
    #[must_use]
    pub fn format(
        mut self,
        tool: impl Into<String>,
        formatter: impl Fn(&FormattedResult<'_>) -> crate::event::MessageContent + Send + Sync + 'static,
    ) -> Self {
        self.formatters.insert(tool.into(), Arc::new(formatter));
        self
    }

    /// Warns the model by a system message at the end of a history that fills its budget. Tokens are estimated as by
    /// [`ContextGuard`](crate::run::ContextGuard). A run with such a guard does not need this: the guard warns by itself, and
    /// knows the provider's count.
    #[must_use]
    pub fn budget(mut self, budget: TokenBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Leaves the calls of an unfinished turn without a result if none is stored, to show a turn that another process
    /// drives. By default such a call gets a result for the model: the outcome is unknown.
    #[must_use]
    pub fn keep_open_calls(mut self) -> Self {
        self.keeps_open_calls = true;
        self
    }

    /// Builds the conversation of a path, the oldest turn first: the messages, the state shared with an agent, and the usage
    /// of the last hop.
    ///
    /// # Errors
    /// The turns do not form a path, or their blocks do not fit together.
    pub fn transcript<'a>(
        &self,
        path: impl IntoIterator<Item = &'a Turn>,
    ) -> Result<Transcript, SessionError> {
        let mut transcript = replay(path, self.keeps_open_calls)?;
        for (tool, formatter) in &self.formatters {
            super::format::format_results(&mut transcript, tool, &**formatter);
        }
        self.warn(&mut transcript);
        Ok(transcript)
    }

    /// Builds the messages of a path, the oldest turn first.
    ///
    /// # Errors
    /// As for [`conversation`](Self::transcript).
    pub fn messages<'a>(
        &self,
        path: impl IntoIterator<Item = &'a Turn>,
    ) -> Result<Vec<Message>, SessionError> {
        self.transcript(path)
            .map(|transcript| transcript.messages().to_vec())
    }

    fn warn(&self, transcript: &mut Transcript) {
        let Some(TokenBudget { tokens, warn_at }) = self.budget else {
            return;
        };
        let messages = transcript.messages().iter();
        let used: u64 = messages.map(token_estimate::of_message).sum();
        if used as f64 >= tokens as f64 * warn_at {
            transcript.put(Message::System(TextualMessage {
                id: WARNING.into(),
                content: NEARLY_FULL.to_owned(),
                ..TextualMessage::default()
            }));
        }
    }
}
