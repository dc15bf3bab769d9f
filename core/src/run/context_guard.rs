//! The model's context window: what happens before a request that nearly fills it, or does not fit.

use super::config::RunIds;
use super::core::Core;
use super::effect::EffectId;
use super::outcome::Failure;
use super::output::RunEvent;
use super::{Completed, Opening, Run, context_size, context_trim};
use crate::dialect::Dialect;
use crate::event::Message;
use crate::sorted::sorted;
use crate::{MessageId, Timestamp, provider};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What happens when the conversation fills the model's context window.
///
/// It is on by default for the models that [`provider::context_window`] knows, and rests for all others: a request that
/// cannot fit costs a refusal of the provider's at best, and at worst a history that the server cuts without a word.
///
/// How long a conversation is, is what the provider counted in the hop before and an estimate of what came since; where
/// it has counted nothing, an estimate of the whole: a token for four bytes of text, and media by their kind. A window
/// that the app gives is taken at its word. One from the table stops a request by an estimate of the whole only when
/// that is half as much again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextGuard {
    /// The most tokens that the model takes, question and answer together; what
    /// [`provider::context_window`] says if absent.
    pub window: Option<u64>,
    /// How full the context may be before the model is warned, as a part of it: 0.8 is four fifths. Never if absent. The
    /// warning follows the app's instructions, in the requests alone, and is always the same text, so that it spoils a
    /// prompt cache but once. The person is told by [`RunEvent::ContextNearlyFull`], once a turn.
    pub warn_at: Option<f64>,
    /// What happens to a request that does not fit.
    pub at_limit: ContextPolicy,
}

impl Default for ContextGuard {
    fn default() -> Self {
        Self {
            window: None,
            warn_at: Some(0.8),
            at_limit: ContextPolicy::default(),
        }
    }
}

/// What happens to a request that does not fit the model's context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextPolicy {
    /// It goes out all the same: the provider is to decide.
    Send,
    /// The turn ends with [`Failure::ContextTooLong`] before it goes out.
    #[default]
    Fail,
    /// The host is asked what to leave out, with [`Effect::TrimContext`](super::Effect::TrimContext).
    Trim,
}

/// A conversation that does not fit the model's context window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextOverflow {
    /// How many tokens the next request would take, the instructions and the tools included.
    pub tokens: u64,
    /// How many it may take: the model's window, without what is kept for the answer.
    pub window: u64,
    /// The messages of the request, oldest first.
    pub messages: Vec<ContextMessage>,
}

/// A message of a conversation that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextMessage {
    /// The message.
    pub id: MessageId,
    /// How many tokens it takes: an estimate, on the same scale as those of the other messages.
    pub tokens: u64,
}

impl ContextOverflow {
    /// The newest messages that fill no more than this part of the room: half of it (0.5) leaves room to go on for a
    /// while. To be given back as they are: what belongs to them is kept with them.
    #[must_use]
    pub fn newest(&self, part: f64) -> Vec<MessageId> {
        let all: u64 = self.messages.iter().map(|message| message.tokens).sum();
        // What is no message, and what the estimates are wrong by.
        let scale = if all == 0 {
            1.0
        } else {
            self.tokens as f64 / all as f64
        };
        let mut left = self.window as f64 * part.clamp(0.0, 1.0);
        let mut newest: Vec<_> = self
            .messages
            .iter()
            .rev()
            .take_while(|message| {
                left -= message.tokens as f64 * scale;
                left >= 0.0
            })
            .map(|message| message.id.clone())
            .collect();
        newest.reverse();
        newest
    }
}

/// How the conversation stands with the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Context {
    /// The person was told in this turn.
    told: bool,
    /// The hop's request warns the model.
    warns: bool,
    /// How long the request is that the host is asked to trim.
    tokens: u64,
    /// The messages that this turn's requests do not carry any more.
    left_out: Vec<MessageId>,
    /// What stands for them.
    summary: Option<String>,
    /// The hop cannot begin. Taken up within the same input.
    #[serde(skip)]
    pub(super) failure: Option<Failure>,
}

impl Context {
    pub(super) fn is_untouched(&self) -> bool {
        *self == Self::default()
    }
}

/// What the provider counted: the request and the answer of the hop before.
pub(super) struct Counted {
    tokens: u64,
    /// From here on messages may have come since.
    since: usize,
}

/// Said to the model behind the app's instructions.
pub(crate) const NEARLY_FULL: &str = "This conversation has nearly filled your context window. Be brief, ask for no more than \
                           you need, and come to an end soon.";
/// Said before the host's summary of what was left out.
const LEFT_OUT: &str = "Earlier messages of this conversation were left out. In short, they said:";

impl Core {
    /// What the provider counted in the hop before, or in the last one of the turn before.
    pub(super) fn counted_tokens(&self) -> Option<Counted> {
        let dialect = self.config.endpoint.dialect;
        // An agent asks models of its own, any number of them.
        let [usage] = self.conversation.summary().usage.as_slice() else {
            return None;
        };
        if dialect == Dialect::AgUi {
            return None;
        }
        let count = |count: Option<u64>| count.unwrap_or(0);
        let cached = match dialect {
            // Beside the other tokens of the request, not among them.
            Dialect::Anthropic => count(usage.cached_input_tokens)
                .saturating_add(count(usage.cache_write_input_tokens)),
            _ => 0,
        };
        let reasoning = match dialect {
            // Beside the other tokens of the answer, not among them.
            Dialect::Gemini => 0,
            // They are not sent back.
            _ => count(usage.reasoning_tokens),
        };
        let answer = count(usage.output_tokens).saturating_sub(reasoning);
        let tokens = usage.input_tokens?.saturating_add(cached);
        let messages = self.conversation.messages();
        let since = self
            .hop_anchor
            .position(&self.conversation)
            .or_else(|| Some(messages.iter().rposition(is_of_the_model)? + 1));
        Some(Counted {
            tokens: tokens.saturating_add(answer),
            since: since.unwrap_or(0),
        })
    }

    /// Asks the model, if the conversation fits its context.
    pub(super) fn guard_context(&mut self, counted: Option<Counted>) {
        self.context.warns = false;
        let guard = self.config.context;
        let Some(room) = self.context_room() else {
            return self.ask_model();
        };
        let is_guess = counted.is_none();
        let tokens = match counted {
            Some(counted) => {
                let since = self.conversation.messages().get(counted.since..);
                let since = since.unwrap_or_default().iter();
                let since = since.filter(|message| !is_of_the_model(message));
                let since: u64 = since.map(context_size::of_message).sum();
                counted.tokens.saturating_add(since)
            }
            None => self.guessed_tokens(),
        };
        let is_sure = !is_guess || guard.window.is_some();
        let stops_at = if is_sure {
            room
        } else {
            room.saturating_add(room / 2)
        };
        match guard.at_limit {
            ContextPolicy::Trim if tokens > room => {
                self.context.tokens = tokens;
                self.emit(EffectId::Trim { hop: self.hop });
            }
            ContextPolicy::Fail if tokens > stops_at => self.context_too_long(tokens),
            _ => {
                self.warn_of_context(tokens, room);
                self.ask_model();
            }
        }
    }

    /// The tokens that a request may take; nothing if the model's window is not known.
    fn context_room(&self) -> Option<u64> {
        let endpoint = &self.config.endpoint;
        let known = || provider::context_window(&endpoint.provider, &endpoint.model);
        let window = self.config.context.window;
        let window = window.or_else(|| known().map(|known| known.window))?;
        let answer = u64::from(self.config.settings.max_output_tokens.unwrap_or(0));
        // An app that wants more for the answer than there is has made a mistake that the provider will name.
        Some(if answer < window {
            window - answer
        } else {
            window
        })
    }

    fn guessed_tokens(&self) -> u64 {
        let messages = self.conversation.messages();
        let messages = self.in_context(messages);
        let messages: u64 = messages.iter().map(context_size::of_message).sum();
        let tools: u64 = match self.reached {
            Some(_) => 0,
            None => {
                let tools = self.config.tools.definitions().iter();
                tools.map(context_size::of_tool).sum()
            }
        };
        let instructions = self.instructions();
        let instructions = instructions.as_deref().map_or(0, context_size::of_text);
        messages.saturating_add(tools).saturating_add(instructions)
    }

    fn warn_of_context(&mut self, tokens: u64, room: u64) {
        let Some(part) = self.config.context.warn_at else {
            return;
        };
        if (tokens as f64) < room as f64 * part {
            return;
        }
        self.context.warns = true;
        if !std::mem::replace(&mut self.context.told, true) {
            self.event(RunEvent::ContextNearlyFull {
                tokens,
                window: room,
            });
        }
    }

    fn context_too_long(&mut self, tokens: u64) {
        let room = self.context_room().unwrap_or(0);
        self.context.failure = Some(Failure::ContextTooLong {
            tokens,
            window: room,
        });
    }

    /// The request for the hop's stream goes out, or the host is asked to create its run.
    fn ask_model(&mut self) {
        let hop = self.hop;
        if hop > 0 {
            self.parent_run_id = Some(self.ids.run_id.clone());
            self.ids.run_id = format!("{}.{hop}", self.turn).into();
        }
        if self.config.run_ids == RunIds::Host {
            return self.emit(EffectId::CreateRun { hop });
        }
        if hop > 0 {
            let run_id = self.ids.run_id.clone();
            self.event(RunEvent::HopStarted { hop, run_id });
        }
        self.emit(EffectId::Open { hop, attempt: 0 });
    }

    /// What the host is asked to make fit.
    pub(super) fn context_overflow(&self) -> ContextOverflow {
        let messages = self.in_context(self.conversation.messages());
        let messages = messages.iter().filter(|message| is_sent(message));
        ContextOverflow {
            tokens: self.context.tokens,
            window: self.context_room().unwrap_or(0),
            messages: messages
                .map(|message| ContextMessage {
                    id: message.id().clone(),
                    tokens: context_size::of_message(message),
                })
                .collect(),
        }
    }

    fn trim_context(&mut self, keep: &[MessageId], summary: Option<String>) {
        let before = self.guessed_tokens().max(1);
        let messages = self.in_context(self.conversation.messages());
        let messages = messages.iter().filter(|message| is_sent(message));
        let left_out = context_trim::left_out(messages, keep);
        self.context.left_out.extend(left_out.iter().cloned());
        if summary.is_some() {
            self.context.summary = summary;
        }
        let after = self.guessed_tokens();
        // By as much as the estimate was wrong of the whole, it is wrong of what is left.
        let scaled = u128::from(self.context.tokens) * u128::from(after) / u128::from(before);
        let tokens = u64::try_from(scaled).unwrap_or(u64::MAX);
        self.context.tokens = 0;
        let Some(room) = self.context_room().filter(|room| tokens <= *room) else {
            return self.context_too_long(tokens);
        };
        self.event(RunEvent::ContextTrimmed { left_out, tokens });
        self.warn_of_context(tokens, room);
        self.ask_model();
    }

    /// The messages without those that were left out.
    pub(super) fn in_context<'a>(&self, messages: &'a [Message]) -> Cow<'a, [Message]> {
        if self.context.left_out.is_empty() {
            return Cow::Borrowed(messages);
        }
        let left_out: BTreeSet<&str> = sorted(self.context.left_out.iter().map(MessageId::as_str));
        let kept = messages.iter();
        kept.filter(|message| !left_out.contains(message.id().as_str()))
            .cloned()
            .collect()
    }

    /// What goes before the conversation: the app's instructions, and what is to be said of the context.
    pub(super) fn instructions(&self) -> Option<Cow<'_, str>> {
        let own = self.config.instructions.as_deref();
        let Context { warns, summary, .. } = &self.context;
        if !warns && summary.is_none() {
            return own.map(Cow::Borrowed);
        }
        let summary = summary.as_ref();
        let summary = summary.map(|summary| format!("{LEFT_OUT}\n{summary}"));
        let warning = warns.then(|| NEARLY_FULL.to_owned());
        let parts = own.map(str::to_owned).into_iter();
        let parts: Vec<_> = parts.chain(summary).chain(warning).collect();
        Some(Cow::Owned(parts.join("\n\n")))
    }
}

impl Run<Opening> {
    /// The effect under which the host is asked to trim the conversation.
    fn trim_effect(&self) -> EffectId {
        EffectId::Trim { hop: self.core.hop }
    }

    /// The host says which messages are kept, and what stands for the others. The history stays whole: they are left
    /// out of this turn's requests. What belongs to a message that is kept is kept with it: a call with its results,
    /// both ways, and the reasoning before them; so are the last question and the last message.
    ///
    /// # Errors
    /// It is still too long: the turn is over.
    pub fn context_trimmed(
        mut self,
        keep: &[MessageId],
        summary: Option<String>,
        now: Timestamp,
    ) -> Result<Self, Run<Completed>> {
        self.core.tick(now);
        let trim = self.trim_effect();
        if self.core.pending.stage(trim).is_none() {
            return Ok(self);
        }
        self.core.answered(trim);
        self.core.trim_context(keep, summary);
        self.guarded()
    }

    /// The host cannot make the conversation fit: the turn is over.
    pub fn context_not_trimmed(mut self, message: &str, now: Timestamp) -> Run<Completed> {
        self.core.tick(now);
        self.core.answered(self.trim_effect());
        let message = format!("the conversation could not be trimmed: {message}");
        self.core.event(RunEvent::Warning { message });
        let room = self.core.context_room().unwrap_or(0);
        let tokens = self.core.context.tokens;
        self.fail(Failure::ContextTooLong {
            tokens,
            window: room,
        })
    }

    /// The run as it is, unless its request was found to be none that can be sent.
    pub(super) fn guarded(mut self) -> Result<Self, Run<Completed>> {
        match self.core.context.failure.take() {
            None => Ok(self),
            Some(failure) => Err(self.fail(failure)),
        }
    }

    /// The same, as one of the things that a move may lead to.
    pub(super) fn opening_or_over<T: From<Self> + From<Run<Completed>>>(self) -> T {
        match self.guarded() {
            Ok(run) => run.into(),
            Err(run) => run.into(),
        }
    }
}

fn is_of_the_model(message: &Message) -> bool {
    matches!(message, Message::Assistant(_) | Message::Reasoning(_))
}

/// Activities are shown, and never sent.
fn is_sent(message: &Message) -> bool {
    !matches!(message, Message::Activity(_))
}
