//! Views built from stored turns, and from messages alone.

use super::Turn;
use super::view::{SessionView, ViewOptions};
use super::view_state::ViewState;
use crate::Timestamp;
use crate::event::Message;
use crate::run::SessionError;
use crate::transcript::Transcript;

impl SessionView {
    /// Builds the view of a path of stored turns, the oldest first.
    ///
    /// # Errors
    /// The turns do not form a path, or their blocks do not fit together.
    pub fn of<'a>(
        path: impl IntoIterator<Item = &'a Turn>,
        options: &ViewOptions,
    ) -> Result<Self, SessionError> {
        let mut state = ViewState::default();
        for turn in path {
            state.add(turn)?;
        }
        Ok(state.view(options))
    }

    /// Builds the view of messages without turns, all from one time: for an app whose agent has no store, or for a history
    /// from elsewhere.
    ///
    /// ```
    /// use stepwell_core::Timestamp;
    /// use stepwell_core::event::Message;
    /// use stepwell_core::session::{SessionView, ViewOptions};
    ///
    /// let history = [Message::user("1", "What is a stepwell?")];
    /// let view = SessionView::of_messages(&history, Timestamp(0), &ViewOptions::default());
    /// assert_eq!(view.messages[0].content.to_text(), "What is a stepwell?");
    /// ```
    #[must_use]
    pub fn of_messages(messages: &[Message], at: Timestamp, options: &ViewOptions) -> Self {
        let mut view = ViewState::of(Transcript::new(messages.to_vec())).view(options);
        view.created_at = at;
        view.updated_at = at;
        for message in &mut view.messages {
            message.timestamp = at;
            for execution in &mut message.tool_executions {
                execution.timestamp = at;
            }
        }
        view
    }
}
