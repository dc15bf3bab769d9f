//! The model's answers to the requests.

use std::time::Duration;

use serde_json::{Value, json};

use crate::dialect::carries_results;
use crate::server::access::{Access, SigningKey};
use crate::server::json::ScriptJson;
use crate::{Hop, ScriptError};

/// The answers of the model, one [`Hop`] for each request, in order.
///
/// A request after the last hop gets HTTP 500 with an error that names the cause.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Script {
    pub(crate) hops: Vec<Hop>,
    pub(crate) repeat: bool,
    pub(crate) lenient: bool,
    pub(crate) piece_delay: Duration,
    pub(crate) discards_requests: bool,
    pub(crate) scenes: Vec<(String, Vec<Hop>)>,
    pub(crate) access: Access,
}

impl Script {
    /// A script without hops.
    pub const fn new() -> Self {
        Self {
            hops: Vec::new(),
            repeat: false,
            lenient: false,
            piece_delay: Duration::ZERO,
            discards_requests: false,
            scenes: Vec::new(),
            access: Access {
                bearer: None,
                signed: None,
            },
        }
    }

    /// Adds the answer to the next request.
    pub fn hop(mut self, hop: Hop) -> Self {
        self.hops.push(hop);
        self
    }

    /// Starts over with each message of the user.
    ///
    /// The hop is then chosen by the request alone: by how many answers of the model it holds after the
    /// last user message (assistant messages side by side are one answer). The server keeps no place in
    /// the script, so any number of clients can play it, as often as they like, at the same time.
    pub const fn repeat(mut self) -> Self {
        self.repeat = true;
        self
    }

    /// Other answers, for a request whose last user message has `keyword` in it, as a word of its own and in any case.
    /// Of several that fit, the first counts. The script then [repeats](Self::repeat), since a scene is chosen by
    /// the request alone.
    pub fn scene(
        mut self,
        keyword: impl Into<String>,
        hops: impl IntoIterator<Item = Hop>,
    ) -> Self {
        let hops = hops.into_iter().collect();
        self.scenes.push((keyword.into(), hops));
        self.repeat()
    }

    /// The answers to a request whose last user message is `question`.
    pub(crate) fn hops(&self, question: &str) -> &[Hop] {
        let question = question.to_lowercase();
        let is_said = |keyword: &str| {
            let mut words = question.split(|letter: char| !letter.is_alphanumeric());
            words.any(|word| word == keyword.to_lowercase())
        };
        let mut scenes = self.scenes.iter();
        let scene = scenes.find(|(keyword, _)| is_said(keyword));
        scene.map_or(&self.hops, |(_, hops)| hops)
    }

    /// Takes any JSON object for a request. Without it a request that the provider would refuse gets
    /// HTTP 400 in the provider's shape: a tool call that was not answered exactly once, a message of
    /// an unknown role, a missing field.
    pub const fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Refuses requests as Amazon Bedrock does, with a 403, unless they have this key as `authorization: Bearer`. Such a
    /// request takes no hop.
    pub fn bearer(mut self, key: impl Into<String>) -> Self {
        self.access.bearer = Some(key.into());
        self
    }

    /// Refuses requests as Amazon Bedrock does, with a 403, unless they are signed with these credentials of AWS, or have
    /// the key of [`bearer`](Self::bearer). Such a request takes no hop.
    pub fn aws_credentials(
        mut self,
        access_key_id: impl Into<String>,
        secret_access_key: impl Into<String>,
        session_token: Option<&str>,
    ) -> Self {
        self.access.signed = Some(SigningKey {
            id: access_key_id.into(),
            secret: secret_access_key.into(),
            session_token: session_token.map(str::to_owned),
        });
        self
    }

    /// Sets the time between two pieces of an answer, for a demo that people watch. Zero without it.
    pub const fn piece_delay(mut self, delay: Duration) -> Self {
        self.piece_delay = delay;
        self
    }

    /// Keeps only the newest request, for a server that runs for a long time and whose requests no test reads. Without it
    /// [`requests`](crate::MockLlm::requests) has up to 64 MiB of them.
    pub const fn discard_requests(mut self) -> Self {
        self.discards_requests = true;
        self
    }

    /// Reads a script from JSON; the README lists the fields.
    ///
    /// ```
    /// # use stepwell_mock_llm::Script;
    /// let script = Script::from_json(r#"{"hops": [{"steps": [{"text": "Hello"}]}]}"#)?;
    /// # Ok::<(), stepwell_mock_llm::ScriptError>(())
    /// ```
    ///
    /// # Errors
    /// [`ScriptError`] when the text is not JSON, has an unknown field, or a hop that contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        Self::try_from(serde_json::from_str::<ScriptJson>(text)?)
    }

    /// Reads a script from the first JSON value of `reader`, and nothing after it.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json); a reader that fails is a [`ScriptError::Json`] as well.
    pub fn from_reader(reader: impl std::io::Read) -> Result<Self, ScriptError> {
        let mut values = serde_json::Deserializer::from_reader(reader).into_iter::<ScriptJson>();
        match values.next() {
            Some(script) => Self::try_from(script?),
            None => Self::from_json(""),
        }
    }

    /// Returns the built-in script: a model that calls the tool `get_secret_number` for two people at once, and then
    /// states both numbers. It [repeats](Self::repeat), so it serves a demo as well as a test.
    pub fn secret_numbers() -> Self {
        Self::new()
            .hop(
                Hop::new()
                    .text("Let me look those numbers up.")
                    .tool_call("get_secret_number", json!({"name": "alice"}))
                    .tool_call("get_secret_number", json!({"name": "bob"})),
            )
            .hop(Hop::new().text("Alice's number is 42, Bob's is 7"))
            .repeat()
    }

    /// Checks whether every hop can be sent.
    pub(crate) fn validate(&self) -> Result<(), ScriptError> {
        let scenes = self.scenes.iter().map(|(_, hops)| hops);
        let mut all = std::iter::once(&self.hops).chain(scenes);
        all.try_for_each(|hops| {
            hops.iter().enumerate().try_for_each(|(index, hop)| {
                hop.validate()
                    .map_err(|reason| ScriptError::Hop { hop: index, reason })
            })
        })
    }
}

/// The text of the last user message, wherever the dialect has it. A message that only carries what tools gave, as some
/// dialects have it, is none of the user's.
pub(super) fn question(body: &Value) -> String {
    let texts = |message: &Value| -> String {
        let content = ["content", "parts"].iter().find_map(|field| {
            let content = &message[field];
            if let Some(text) = content.as_str() {
                return Some(text.to_owned());
            }
            let parts = content.as_array()?.iter();
            Some(parts.filter_map(|part| part["text"].as_str()).collect())
        });
        content.unwrap_or_default()
    };
    let lists = ["messages", "contents", "input"].iter();
    let messages: Vec<_> = lists
        .filter_map(|list| body[list].as_array())
        .flatten()
        .collect();
    let before = |index: usize| index.checked_sub(1).map(|before| messages[before]);
    let users = messages.iter().enumerate().rev();
    users
        .filter(|(_, message)| message["role"] == "user")
        .filter(|(index, message)| !carries_results(before(*index), message))
        .map(|(_, message)| texts(message))
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}
