//! Normalises any history so that any provider accepts it: after a cancellation, a crash, or a switch of provider
//! during a conversation.
//!
//! The work is shared with the encoders. The encoders convert a history to their format: they merge neighbours of one
//! role, put system messages where the format has them, send signatures only to the provider that made them and the
//! format's replacement for missing ones (Gemini), and leave activities out. This module ensures the rules for the
//! history itself, which [`Rules`] has for each provider:
//!
//! - every call has exactly one result, after the answer that asked for it, in the order of the calls. A late result
//!   moves there; a missing one is created, as an error that says so; of two the first counts; one without a call is
//!   dropped;
//! - the ids of calls are unique, and have the provider's charset and length. Any other id is rewritten on both sides,
//!   from the id alone, so that the same history gives the same request; so are the names of tools. Kimi's ids name
//!   their function, and stay as the model wrote them, whichever earlier answer has the same;
//! - blank text is dropped if the provider refuses it, and with it a message that has nothing else. A user's message is
//!   kept, with a text that says that it was empty;
//! - reasoning without an answer is dropped: its answer was cut off;
//! - if necessary, the history begins with the user, ends with the user or a result, and has an answer between a result
//!   and the user's next message. Added messages say that they fill a gap. The history may end with an answer that
//!   Anthropic has paused within its own tools;
//! - if system messages must come first, they are moved there, in their order, as Anthropic's own compatible API does;
//! - media that a tool returned, and that the format has no place for in a result, come after the results as a user
//!   message that names the call;
//! - media that another model made, and those that the provider has no form of its own for, are shown in a message
//!   before the user's next one;
//! - media that the provider does not accept, or that are in another's store, become text, and so does a refusal.
//!
//! An AG-UI agent gets the history unchanged, with the missing results added.

mod calls;
mod content;
mod ids;
mod media;
mod open_calls;
mod rules;
mod signature;
mod turns;

// For the checks of `stepwell-core`. They are hidden because they may change in any release.
pub(super) use ids::fnv;
#[doc(hidden)]
pub use media::{garbled, taken, untaken};
pub use rules::{CallIds, Charset, IdForm, Rules, ToolNames};

use super::{HttpRequest, ModelRequest, Offer, SentMessage};
use crate::event::Message;
use std::borrow::Cow;

/// Returns the history in a form that the provider accepts. A valid history is returned unchanged, so the function is
/// idempotent.
#[must_use]
pub fn legalise<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    rules: &Rules<'_>,
) -> Vec<SentMessage<'a>> {
    let mut history = SentMessage::all(messages);
    if rules.is_agent {
        if !rules.may_leave_calls_open {
            calls::answer_all(&mut history);
        }
    } else {
        media::show_made(&mut history, rules);
        content::clean(&mut history, rules);
        turns::system_first(&mut history, rules);
        calls::pair(&mut history, rules);
        media::show_results(&mut history, rules);
        turns::complete(&mut history, rules);
    }
    history
}

/// A history that is being made legal. What is not touched is not copied.
type History<'a> = Vec<SentMessage<'a>>;

impl ModelRequest<'_> {
    /// Builds the HTTP request. The history is normalised for the endpoint, and the tools and the form of the answer
    /// are expressed as the provider takes them. A tool that cannot be expressed is left out.
    ///
    /// A run of `stepwell-core` builds its requests itself. This method is for programs without a run, for example for
    /// the lines of a provider's batch API:
    ///
    /// ```
    /// use serde_json::Value;
    /// use stepwell_llm::Timestamp;
    /// use stepwell_llm::dialect::{GenerationSettings, HopIds, ModelRequest};
    /// use stepwell_llm::event::Message;
    /// use stepwell_llm::provider;
    ///
    /// let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", None, Some("the key".into()))?;
    /// let request = ModelRequest {
    ///     endpoint: &endpoint,
    ///     ids: &HopIds::default(),
    ///     parent_run_id: None,
    ///     instructions: Some("Be brief."),
    ///     messages: &[&Message::user("1", "What is a stepwell?")],
    ///     tools: &[],
    ///     state: &Value::Null,
    ///     settings: &GenerationSettings::default(),
    ///     resume: &[],
    ///     compact_above: None,
    ///     now: Timestamp(0),
    /// };
    /// let body: Value = serde_json::from_slice(&request.to_http().body)?;
    /// assert_eq!(body["model"], "gpt-4o-mini");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_http(&self) -> HttpRequest {
        let offer = Offer::new(self.endpoint, self.tools, self.settings, None);
        self.with_offer(&offer)
    }

    /// Builds the request from an offer that is shared by all requests of a run.
    #[doc(hidden)]
    #[must_use]
    pub fn with_offer(&self, offer: &Offer) -> HttpRequest {
        let mut rules = Rules::of(self.endpoint);
        rules.may_leave_calls_open &= !self.resume.is_empty();
        let mut messages = legalise(self.messages.iter().copied(), &rules);
        offer.spell(&mut messages);
        let messages = SentMessage::references(&messages);
        let own = self.instructions.filter(|text| !text.is_empty());
        let instructions = match (own, &offer.wish) {
            (Some(own), Some(wish)) => Some(Cow::Owned(format!("{own}\n\n{wish}"))),
            (own, wish) => own.or(wish.as_deref()).map(Cow::Borrowed),
        };
        self.endpoint.dialect.encoder().encode(&ModelRequest {
            messages: &messages,
            instructions: instructions.as_deref(),
            tools: &offer.tools,
            settings: &offer.settings,
            ..*self
        })
    }
}
