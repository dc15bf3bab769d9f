//! One answer of the scripted model.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;
use serde_json::Value;

use crate::RecordedRequest;
use crate::server::background::Readability;
use crate::writer::Usage;

/// One answer of the model to one request.
///
/// The steps ([`text`](Self::text), [`tool_call`](Self::tool_call), [`pause`](Self::pause) …) are played
/// in the order they are written, in the dialect the request came in. When they are over the answer
/// ends as the provider ends it, unless a step says otherwise.
///
/// ```
/// use serde_json::json;
/// use stepwell_mock_llm::Hop;
///
/// let answer = Hop::new()
///     .reasoning("Two people, two numbers.")
///     .text("Let me look. ")
///     .tool_call("get_secret_number", json!({"name": "alice"}))
///     .tool_call("get_secret_number", json!({"name": "bob"}))
///     .interleave();
/// let limited = Hop::error(429, "Too many requests").header("retry-after", "1");
/// ```
#[derive(Clone)]
#[must_use]
pub struct Hop {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content: Content,
    pub(crate) pieces: Option<usize>,
    pub(crate) piece_delay: Option<Duration>,
    pub(crate) interleave: bool,
    pub(crate) bare: bool,
    pub(crate) usage: Option<Usage>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) cut_at: Option<usize>,
    pub(crate) chunks_of: Option<usize>,
    pub(crate) background: Readability,
    pub(crate) expectations: Vec<Expectation>,
}

pub(crate) type Expectation = Arc<dyn Fn(&RecordedRequest) -> Result<(), String> + Send + Sync>;

/// The content of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Played in the request's dialect.
    Steps(Vec<Step>),
    /// Sent as it is.
    Whole {
        content_type: &'static str,
        body: Bytes,
    },
    /// An error body of the request's dialect.
    Error(String),
    /// The request is accepted, and never answered.
    Silent,
    /// The connection is closed without an answer.
    HangUp,
}

/// One step of a streamed answer.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Text(String),
    Reasoning(String),
    ToolCall(ToolCall),
    Pause(Duration),
    Stall,
    Cut,
    EndEarly,
    RawFrame(String),
    RawBytes(Bytes),
    ErrorEvent {
        message: String,
        code: Option<String>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct ToolCall {
    /// Made by the server when absent.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// The text that goes on the wire, JSON or not.
    pub(crate) arguments: String,
}

impl Default for Hop {
    fn default() -> Self {
        Self::new()
    }
}

/// The content of the model's answer.
impl Hop {
    /// Creates an empty answer: add steps to it.
    pub const fn new() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            content: Content::Steps(Vec::new()),
            pieces: None,
            piece_delay: None,
            interleave: false,
            bare: false,
            usage: None,
            stop_reason: None,
            cut_at: None,
            chunks_of: None,
            background: Readability::FULL,
            expectations: Vec::new(),
        }
    }

    /// Adds text of the model, a word or so at a time (see [`pieces`](Self::pieces)).
    pub fn text(self, text: impl Into<String>) -> Self {
        self.step(Step::Text(text.into()))
    }

    /// The model thinks `text` aloud, a word or so at a time.
    pub fn reasoning(self, text: impl Into<String>) -> Self {
        self.step(Step::Reasoning(text.into()))
    }

    /// The model asks for the tool `name`. The call's id is made by the server: `call_` and two numbers,
    /// the same on every run of the script and unique in a conversation.
    pub fn tool_call(self, name: impl Into<String>, arguments: impl Into<Value>) -> Self {
        self.call(None, name.into(), arguments.into().to_string())
    }

    /// Adds a call, as [`tool_call`](Self::tool_call) does, with an id of the test's choosing.
    pub fn tool_call_with_id(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> Self {
        self.call(Some(id.into()), name.into(), arguments.into().to_string())
    }

    /// Adds a call whose arguments are exactly this text: not JSON, cut short, `null`, or empty, which sends no
    /// argument piece at all.
    pub fn tool_call_raw(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        self.call(Some(id.into()), name.into(), arguments.into())
    }

    fn call(self, id: Option<String>, name: String, arguments: String) -> Self {
        self.step(Step::ToolCall(ToolCall {
            id,
            name,
            arguments,
        }))
    }

    /// Why the model stopped, in the dialect's own word (`length`, `content_filter` …). Without it the
    /// dialect's word for "done" or for "wants tools" is sent. AG-UI has no such field and ignores it.
    pub fn stop_reason(mut self, reason: impl Into<String>) -> Self {
        self.stop_reason = Some(reason.into());
        self
    }

    /// The tokens this answer cost. Without it they are estimated: one for every four bytes.
    pub const fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(Usage { input, output });
        self
    }

    /// The provider's error object inside the stream. The answer then ends without its usual end.
    pub fn error_event(self, message: impl Into<String>) -> Self {
        self.step(Step::ErrorEvent {
            message: message.into(),
            code: None,
        })
    }

    /// Adds an error, as [`error_event`](Self::error_event) does, with the provider's error code.
    pub fn error_event_with_code(
        self,
        message: impl Into<String>,
        code: impl Into<String>,
    ) -> Self {
        self.step(Step::ErrorEvent {
            message: message.into(),
            code: Some(code.into()),
        })
    }

    /// Adds one frame of the test's own making: `data` is put in the dialect's framing (an SSE event, or a line for
    /// Ollama) and nothing more. It takes `json!` values and text alike.
    pub fn raw_frame(self, data: impl fmt::Display) -> Self {
        self.step(Step::RawFrame(data.to_string()))
    }

    /// Adds exactly these bytes, without any framing.
    pub fn raw_bytes(self, bytes: impl Into<Bytes>) -> Self {
        self.step(Step::RawBytes(bytes.into()))
    }

    /// Only the steps are sent, without what begins and ends an answer in the dialect: for a stream that
    /// is raw from its first byte to its last.
    pub const fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    pub(crate) fn step(mut self, step: Step) -> Self {
        if let Content::Steps(steps) = &mut self.content {
            steps.push(step);
        } else {
            self.content = Content::Steps(vec![step]);
        }
        self
    }
}

/// The form of the answer on the wire.
impl Hop {
    /// Sets that text and arguments come in pieces of at most `bytes` bytes, at least one character each. Without it
    /// they come by the word, long words in parts.
    pub const fn pieces(mut self, bytes: usize) -> Self {
        self.pieces = Some(bytes);
        self
    }

    /// Sets the time between two pieces. Without it, [`Script::piece_delay`](crate::Script::piece_delay).
    pub const fn piece_delay(mut self, delay: Duration) -> Self {
        self.piece_delay = Some(delay);
        self
    }

    /// Mixes the arguments of neighbouring tool calls: one piece of each in turn.
    pub const fn interleave(mut self) -> Self {
        self.interleave = true;
        self
    }

    /// Nothing comes for this long, in real time.
    pub fn pause(self, duration: Duration) -> Self {
        self.step(Step::Pause(duration))
    }

    /// Nothing ever comes again, and the connection stays open until the client leaves.
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// The connection is lost here, in the middle of the body, after all that came before was sent.
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// The body ends here, cleanly for HTTP, without what ends an answer in the dialect.
    pub fn end_early(self) -> Self {
        self.step(Step::EndEarly)
    }

    /// The connection is lost after exactly this many bytes of the body, or after the last one where the
    /// body has fewer. Going through every number tests every place a stream can break at.
    pub const fn cut_at(mut self, bytes: usize) -> Self {
        self.cut_at = Some(bytes);
        self
    }

    /// The body comes in HTTP chunks of this many bytes, whatever that splits: a frame, a line end, a
    /// character. A pause ends a chunk early.
    pub const fn chunks_of(mut self, bytes: usize) -> Self {
        self.chunks_of = Some(bytes);
        self
    }
}

/// Whole responses and failures of HTTP.
impl Hop {
    /// A response with this status and an empty body: add a [`body`](Self::body), or steps.
    pub fn status(status: u16) -> Self {
        let mut hop = Self::new();
        hop.status = status;
        hop.content = Content::Whole {
            content_type: "text/plain; charset=utf-8",
            body: Bytes::new(),
        };
        hop
    }

    /// An error response whose body has the shape of the provider that was asked.
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        let mut hop = Self::status(status);
        hop.content = Content::Error(message.into());
        hop
    }

    /// A page of HTML, as a proxy in between answers when the provider is down.
    pub fn html(status: u16) -> Self {
        let reason = StatusCode::from_u16(status).ok();
        let reason = reason
            .and_then(|status| status.canonical_reason())
            .unwrap_or("Error");
        let page = format!(
            "<html>\r\n<head><title>{status} {reason}</title></head>\r\n\
             <body>\r\n<center><h1>{status} {reason}</h1></center>\r\n</body>\r\n</html>\r\n"
        );
        let mut hop = Self::status(status);
        hop.content = Content::Whole {
            content_type: "text/html",
            body: page.into(),
        };
        hop
    }

    /// The request is taken and never answered, not even with a status.
    pub fn silent() -> Self {
        let mut hop = Self::new();
        hop.content = Content::Silent;
        hop
    }

    /// The connection is closed without an answer.
    pub fn hang_up() -> Self {
        let mut hop = Self::new();
        hop.content = Content::HangUp;
        hop
    }

    /// Sets a JSON body. It replaces the steps written before it, as a step written after replaces the body.
    pub fn body(mut self, body: impl Into<Value>) -> Self {
        let body = body.into().to_string().into();
        self.content = Content::Whole {
            content_type: "application/json",
            body,
        };
        self
    }

    /// Sets a response header. It replaces one that the server would set itself.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// The requirements for the request.
impl Hop {
    /// A condition on the request this hop answers. When it gives an error, or panics (so `assert_eq!` can
    /// be used), the app gets HTTP 500 with the message, and [`MockLlm::failures`](crate::MockLlm::failures)
    /// keeps it.
    ///
    /// ```
    /// # use stepwell_mock_llm::Hop;
    /// let answer = Hop::new().text("Hello").expect(|request| match request.header("authorization") {
    ///     Some("Bearer test-key") => Ok(()),
    ///     other => Err(format!("wrong key: {other:?}")),
    /// });
    /// ```
    pub fn expect<F>(mut self, expectation: F) -> Self
    where
        F: Fn(&RecordedRequest) -> Result<(), String> + Send + Sync + 'static,
    {
        self.expectations.push(Arc::new(expectation));
        self
    }

    /// The first expectation that does not hold.
    pub(crate) fn check(&self, request: &RecordedRequest) -> Result<(), String> {
        self.expectations.iter().try_for_each(|expectation| {
            catch_unwind(AssertUnwindSafe(|| expectation(request))).unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                Err(text
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| "the expectation panicked".to_owned()))
            })
        })
    }

    /// Checks whether HTTP can carry this.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if !(200..=599).contains(&self.status) {
            return Err(format!(
                "{} is not a status of an answer: use 200 to 599",
                self.status
            ));
        }
        self.background.validate()?;
        for (name, value) in &self.headers {
            HeaderName::try_from(name).map_err(|_| format!("{name:?} is not a header name"))?;
            HeaderValue::try_from(value)
                .map_err(|_| format!("{value:?} cannot be the value of header {name}"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hop")
            .field("status", &self.status)
            .field("content", &self.content)
            .field("expectations", &self.expectations.len())
            .finish_non_exhaustive()
    }
}
