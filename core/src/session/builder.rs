use super::format::{FormattedResult, ResultFormatter};
use crate::conversation::Conversation;
use crate::conversation::token_estimate;
use crate::event::{Message, TextualMessage};
use crate::run::{NEARLY_FULL, SessionError, StoredTurn as Turn, replay};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Makes the history for the next turn of what a store has of the turns before it.
///
/// It gives the very conversation that the live runs left behind: a provider that is asked next gets the same request.
/// That holds for what went well, and for turns that failed, were stopped or cut off. A turn that is not over in the
/// store gives what is stored of it, with a result for each call that has none.
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
/// let conversation = MessageBuilder::new().conversation(tree.shown())?;
/// assert_eq!(conversation.text(), "Hi!");
/// // … and give it to the next run: `RunMachine::new(config, thread_id, conversation)`.
/// # Ok::<(), stepwell_core::session::SessionError>(())
/// ```
#[derive(Clone, Default)]
pub struct MessageBuilder {
    formatters: BTreeMap<String, Arc<ResultFormatter>>,
    budget: Option<TokenBudget>,
    keeps_open_calls: bool,
}

/// How long a history may be before the model is warned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBudget {
    /// How many tokens there are for it.
    pub tokens: u64,
    /// How full that may be, as a part of it: 0.8 is four fifths.
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
    /// A builder that gives all as it was.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The model is shown the results of the tool of this name in another form: shorter, say, than when they were new.
    #[must_use]
    pub fn format(
        mut self,
        tool: impl Into<String>,
        formatter: impl Fn(&FormattedResult<'_>) -> crate::event::MessageContent + Send + Sync + 'static,
    ) -> Self {
        self.formatters.insert(tool.into(), Arc::new(formatter));
        self
    }

    /// The model is warned, by a system message at the end of the history, where that fills its budget: tokens are
    /// estimated as [`ContextGuard`](crate::run::ContextGuard) does. Not needed where the run has such a guard, which
    /// warns by itself and knows what the provider has counted.
    #[must_use]
    pub fn budget(mut self, budget: TokenBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Leaves the calls of an unfinished turn without a result where none is stored: for showing a turn that another
    /// process drives. By default the model is told that the outcome of such a call is not known.
    #[must_use]
    pub fn keep_open_calls(mut self) -> Self {
        self.keeps_open_calls = true;
        self
    }

    /// The conversation of a path, the oldest turn first: its messages, the state shared with an agent, and what the
    /// last hop cost.
    ///
    /// # Errors
    /// The turns are no path, or their blocks do not fit together.
    pub fn conversation<'a>(
        &self,
        path: impl IntoIterator<Item = &'a Turn>,
    ) -> Result<Conversation, SessionError> {
        let mut conversation = replay(path, self.keeps_open_calls)?;
        for (tool, formatter) in &self.formatters {
            super::format::format_results(&mut conversation, tool, &**formatter);
        }
        self.warn(&mut conversation);
        Ok(conversation)
    }

    /// The messages of a path, the oldest turn first.
    ///
    /// # Errors
    /// As [`conversation`](Self::conversation).
    pub fn messages<'a>(
        &self,
        path: impl IntoIterator<Item = &'a Turn>,
    ) -> Result<Vec<Message>, SessionError> {
        self.conversation(path)
            .map(|conversation| conversation.messages().to_vec())
    }

    fn warn(&self, conversation: &mut Conversation) {
        let Some(TokenBudget { tokens, warn_at }) = self.budget else {
            return;
        };
        let messages = conversation.messages().iter();
        let used: u64 = messages.map(token_estimate::of_message).sum();
        if used as f64 >= tokens as f64 * warn_at {
            conversation.put(Message::System(TextualMessage {
                id: WARNING.into(),
                content: NEARLY_FULL.to_owned(),
                ..TextualMessage::default()
            }));
        }
    }
}
