//! What clients ask for, in handlers of the app's own.

use crate::axum::body::{check_content_type, read_body, response};
use crate::axum::refusal::{ChatRefusal, Refusal};
use crate::request::input::read_input;
use crate::request::understand;
use crate::run::run_of;
use crate::ui_message::ChatRequest;
use crate::ui_message::UiMessageEncoder;
use crate::wire::Encoding;
use crate::wire::format::Format;
use axum::extract::{FromRequest, Request};
use axum::response::Response;
use std::time::Duration;
use stepwell_core::event::{Message, RunAgentInput};
use stepwell_io::Turn;

/// The longest body that the extractors read, in bytes.
pub(crate) const MAX_BODY: usize = 16 << 20;

/// How long a stream may be silent before a comment is sent.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What an AG-UI client asks for, and how it wants the answer: for a handler of the app's own.
///
/// ```
/// use axum::{extract::State, response::Response};
/// use axum::Extension;
/// use stepwell_serve::axum::RunRequest;
/// use stepwell_io::{Agent, ThreadKey};
///
/// /// Who asks, as a layer of the app has found out.
/// #[derive(Clone)]
/// struct User {
///     id: String,
/// }
///
/// async fn ask(State(agent): State<Agent>, Extension(user): Extension<User>, request: RunRequest) -> Response {
///     // A thread of this user's and this transcript's own: what others say is not in it.
///     let thread = ThreadKey::new("", user.id, request.input.thread_id.clone());
///     let turn = agent.conversation(thread).stream(request.said());
///     request.answer(turn)
/// }
/// ```
///
/// Give the agent a [store](stepwell_io::AgentBuilder::store) for the conversation to continue from: without one it is gone
/// with the turn.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The client's conversation, tools, state and answers. What of it counts is for the handler to say.
    pub input: RunAgentInput,
    /// What its `Accept` header asks for.
    pub encoding: Encoding,
}

impl RunRequest {
    /// Returns the text of the conversation's last message, if it is the user's.
    #[must_use]
    pub fn said(&self) -> String {
        said(&self.input)
    }

    /// The turn as the run that was asked for, from `RUN_STARTED` to its end; see [`run_of`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn answer<T>(self, turn: Turn<T>) -> Response {
        let Self { input, encoding } = self;
        let run_id = input.run_id.clone();
        let events = run_of(turn, Some(input), Format::AgUi);
        response(encoding, events.frames(encoding, run_id, KEEP_ALIVE))
    }
}

impl<S: Send + Sync> FromRequest<S> for RunRequest {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let (head, body) = request.into_parts();
        let encoding = Encoding::accepted(&head.headers)?;
        check_content_type(&head.headers)?;
        let body = read_body(body, MAX_BODY).await?;
        let input = understand(body, read_input).await?;
        Ok(Self { input, encoding })
    }
}

/// What a chat of the AI SDK asks for: for a handler of the app's own.
#[derive(Clone, Debug)]
pub struct Chat(pub ChatRequest);

impl Chat {
    /// Returns the text of the chat's last message, if it is the user's.
    #[must_use]
    pub fn said(&self) -> String {
        said(&self.0.input)
    }

    /// The turn as the UI message stream that was asked for; see [`run_of`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn answer<T>(self, turn: Turn<T>) -> Response {
        let ChatRequest {
            input, message_id, ..
        } = self.0;
        let run_id = input.run_id.clone();
        let format = Format::UiMessages(UiMessageEncoder::new(message_id));
        let events = run_of(turn, Some(input), format);
        let encoding = Encoding::UiMessages;
        response(encoding, events.frames(encoding, run_id, KEEP_ALIVE))
    }
}

impl<S: Send + Sync> FromRequest<S> for Chat {
    type Rejection = ChatRefusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, ChatRefusal> {
        let (head, body) = request.into_parts();
        check_content_type(&head.headers)?;
        let body = read_body(body, MAX_BODY).await?;
        Ok(Self(understand(body, ChatRequest::read).await?))
    }
}

fn said(input: &RunAgentInput) -> String {
    match input.messages.last() {
        Some(Message::User(message)) => message.content.to_text(),
        _ => String::new(),
    }
}
