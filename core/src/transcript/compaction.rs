//! The part of a conversation that requests no longer carry as it is. The conversation itself stays complete.

use crate::MessageId;
use crate::dialect::{Endpoint, SentMessage, without_compaction};
use crate::event::{MEDIA_ACTIVITY, Message, MessageContent, ToolMessage};
use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Ids to look messages up in, in constant time each.
type Ids<'a> = HashSet<&'a str, RandomState>;

/// The part of a conversation that requests no longer carry as it is. The conversation itself stays complete.
///
/// A message that the conversation no longer has hides nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub struct Compaction {
    /// The last message that is left out. All messages before it are left out too, but for those in `kept`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<MessageId>,
    /// The messages before `through` that requests still carry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<MessageId>,
    /// The summary of the messages that are left out. Requests carry it as a user message before all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The last result of a tool that is replaced by a marker. Those of all calls before it are replaced too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results_through: Option<MessageId>,
    /// The answer with which the provider compacted the conversation itself. Requests to this provider begin with that
    /// answer; others are sent what it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_provider: Option<MessageId>,
    /// The last message whose compaction by the provider was taken away: the answers up to that message are sent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_through: Option<MessageId>,
}

/// The id of the message that carries the summary in requests.
pub const SUMMARY: &str = "stepwell-summary";

/// The text before the summary, for the model.
const BEFORE_SUMMARY: &str =
    "Earlier messages of this conversation were left out. In short, they said:";

/// The text that the model gets instead of an old result.
pub(crate) const RESULT_LEFT_OUT: &str =
    "[This result was left out to save room. Call the tool again if the result is needed.]";

impl Compaction {
    /// Returns whether there is nothing to know of a compaction, not even that it was taken away.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether requests leave anything out.
    pub(crate) fn is_any(&self) -> bool {
        let through = [&self.through, &self.results_through, &self.by_provider];
        through.into_iter().any(Option::is_some)
    }

    /// Returns the messages as requests to this endpoint carry them: the summary, and then those that are not left out.
    pub(crate) fn apply<'a>(
        &self,
        messages: &'a [Message],
        endpoint: &Endpoint,
    ) -> Vec<SentMessage<'a>> {
        let mut carried = self.carried(messages);
        let compacted = self.by_provider.as_ref().and_then(|id| {
            let at = carried.iter().rposition(|message| message.id() == id)?;
            endpoint.reads_compaction(&carried[at]).then_some(at)
        });
        if let Some(at) = compacted {
            let mut index = 0..;
            carried.retain(|message| index.next() >= Some(at) || is_instruction(message));
            return carried;
        }
        if let Some(summary) = &self.summary
            && position(&self.through, messages).is_some()
        {
            let is_leading = |message: &&SentMessage<'_>| is_instruction(message);
            let leading = carried.iter().take_while(is_leading).count();
            let text = format!("{BEFORE_SUMMARY}\n{summary}");
            carried.insert(leading, Message::user(SUMMARY, text).into());
        }
        carried
    }

    /// Returns the messages that are not left out, without the summary.
    pub(crate) fn carried<'a>(&self, messages: &'a [Message]) -> Vec<SentMessage<'a>> {
        let start = position(&self.through, messages).map_or(0, |at| at + 1);
        let cleared = position(&self.results_through, messages).map_or(0, |at| at + 1);
        let undone = position(&self.undone_through, messages).map_or(0, |at| at + 1);
        let kept = self.kept_ids();
        let is_carried =
            |at: usize, message: &Message| at >= start || kept.contains(message.id().as_str());
        let first = if kept.is_empty() { start } else { 0 };
        let all = messages.iter().enumerate().skip(first);
        all.filter(|(at, message)| is_carried(*at, message))
            .map(|(at, message)| {
                let changed = match message {
                    Message::Tool(result) if at < cleared => without_result(result),
                    Message::Assistant(_) if at < undone => {
                        without_compaction(message).map(Message::Assistant)
                    }
                    _ => None,
                };
                changed.map_or(SentMessage::Kept(message), SentMessage::from)
            })
            .collect()
    }

    /// Returns the messages that this compaction leaves out and `before` does not, with their results as `before` has
    /// them.
    pub(crate) fn newly_left_out<'a>(
        &self,
        before: &Self,
        messages: &'a [Message],
    ) -> Vec<SentMessage<'a>> {
        let carried = self.carried(messages);
        let carried: Ids<'_> = carried
            .iter()
            .map(|message| message.id().as_str())
            .collect();
        let mut left_out = before.carried(messages);
        left_out.retain(|message| is_sent(message) && !carried.contains(message.id().as_str()));
        left_out
    }

    /// Takes the compaction away. The messages then carry no compaction by the provider either.
    pub(crate) fn undo(&mut self, messages: &[Message]) {
        let holds = |message: &&Message| without_compaction(message).is_some();
        let last = messages.iter().rev().find(holds);
        *self = Self {
            undone_through: last.map(|message| message.id().clone()),
            ..Self::default()
        };
    }

    /// Leaves out more messages. The summary is kept until there is another one.
    pub(crate) fn leave_out(&mut self, left_out: &[MessageId], messages: &[Message]) {
        if left_out.is_empty() {
            return;
        }
        let end = position(&self.through, messages).map_or(0, |at| at + 1);
        let new: Ids<'_> = left_out.iter().map(MessageId::as_str).collect();
        let (through, mut out) = {
            let kept = self.kept_ids();
            let is_out = |at: usize, message: &Message| {
                let id = message.id().as_str();
                new.contains(id) || (at < end && !kept.contains(id))
            };
            let out: Vec<bool> = messages
                .iter()
                .enumerate()
                .map(|(at, message)| is_out(at, message))
                .collect();
            (out.iter().rposition(|is_out| *is_out), out)
        };
        let Some(through) = through else {
            return;
        };
        out.truncate(through);
        let before = messages.iter().zip(out);
        self.kept = before
            .filter(|(message, is_out)| !is_out && is_sent(message))
            .map(|(message, _)| message.id().clone())
            .collect();
        self.through = Some(messages[through].id().clone());
        // What is left out now takes the place of the provider's compaction, which stands for other messages.
        if let Some(by_provider) = self.by_provider.take() {
            self.undone_through = Some(by_provider);
        }
    }

    /// Replaces the results of tools by a marker, but for the newest `keep` and those that the model has not seen yet.
    /// Returns the number of results that are replaced now.
    pub(crate) fn drop_results(&mut self, keep: usize, messages: &[Message]) -> u32 {
        let start = position(&self.through, messages).map_or(0, |at| at + 1);
        let cleared = position(&self.results_through, messages).map_or(0, |at| at + 1);
        let kept = self.kept_ids();
        let is_carried =
            |at: usize, message: &Message| at >= start || kept.contains(message.id().as_str());
        let unseen = messages
            .iter()
            .rposition(|message| matches!(message, Message::Assistant(_)))
            .unwrap_or(0);
        let results = messages.iter().enumerate().rev();
        let mut old = results
            .filter(|(at, message)| matches!(message, Message::Tool(_)) && is_carried(*at, message))
            .skip(keep)
            .skip_while(|(at, _)| *at > unseen)
            .take_while(|(at, _)| *at >= cleared)
            .peekable();
        let Some(last) = old.peek().map(|(_, message)| message.id().clone()) else {
            return 0;
        };
        let count = old.filter(|(_, message)| match message {
            Message::Tool(result) => is_longer_than_marker(result),
            _ => false,
        });
        let count = u32::try_from(count.count()).unwrap_or(u32::MAX);
        if count > 0 {
            self.results_through = Some(last);
        }
        count
    }

    fn kept_ids(&self) -> Ids<'_> {
        self.kept.iter().map(MessageId::as_str).collect()
    }
}

pub(crate) fn is_instruction(message: &Message) -> bool {
    matches!(message, Message::System(_) | Message::Developer(_))
}

/// Returns whether a request carries such a message. Activities are shown, and never sent, but for media that a model
/// made.
pub(crate) fn is_sent(message: &Message) -> bool {
    !matches!(message, Message::Activity(activity) if activity.activity_type != MEDIA_ACTIVITY)
}

/// Returns the index of the last message with this id.
fn position(id: &Option<MessageId>, messages: &[Message]) -> Option<usize> {
    let id = id.as_ref()?;
    messages.iter().rposition(|message| message.id() == id)
}

fn is_longer_than_marker(result: &ToolMessage) -> bool {
    match &result.content {
        MessageContent::Text(text) => text.len() > RESULT_LEFT_OUT.len(),
        MessageContent::Parts(parts) => !parts.is_empty(),
    }
}

/// Returns the message with the marker instead of its result, if that is shorter.
fn without_result(result: &ToolMessage) -> Option<Message> {
    is_longer_than_marker(result).then(|| {
        let error = result.error.as_ref();
        Message::Tool(ToolMessage {
            content: RESULT_LEFT_OUT.into(),
            error: error.map(|_| RESULT_LEFT_OUT.to_owned()),
            ..result.clone()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Dialect, Quirks};
    use crate::event::AssistantMessage;

    fn endpoint() -> Endpoint {
        Endpoint {
            provider: "anthropic".to_owned(),
            dialect: Dialect::Anthropic,
            base_url: "https://anthropic.example".to_owned(),
            model: "m".to_owned(),
            key: None,
            headers: Vec::new(),
            key_header: None,
            quirks: Quirks::default(),
        }
    }

    /// An answer in which Anthropic has compacted the conversation.
    fn compacted(id: &str) -> Message {
        let sealed = r#"{"provider":"anthropic","dialect":"anthropic","value":[{"block":{"type":"compaction","content":"In short"}}]}"#;
        Message::Assistant(AssistantMessage {
            id: id.into(),
            content: Some("Yes.".to_owned()),
            encrypted_value: Some(sealed.to_owned()),
            ..AssistantMessage::default()
        })
    }

    fn encrypted(message: &Message) -> Option<&str> {
        match message {
            Message::Assistant(message) => message.encrypted_value.as_deref(),
            _ => None,
        }
    }

    fn result(id: &str, text: &str) -> Message {
        Message::Tool(ToolMessage {
            id: id.into(),
            tool_call_id: id.into(),
            content: text.into(),
            ..ToolMessage::default()
        })
    }

    fn assistant(id: &str) -> Message {
        Message::Assistant(AssistantMessage {
            id: id.into(),
            ..AssistantMessage::default()
        })
    }

    fn ids<'a>(messages: &'a [SentMessage<'_>]) -> Vec<&'a str> {
        messages.iter().map(|message| &**message.id()).collect()
    }

    fn users(names: &[&str]) -> Vec<Message> {
        names.iter().map(|id| Message::user(*id, *id)).collect()
    }

    #[test]
    fn leaves_out_more_and_keeps_what_it_kept() {
        let messages = users(&["1", "2", "3", "4", "5"]);
        let mut compaction = Compaction::default();
        let whole = ["1", "2", "3", "4", "5"];
        assert_eq!(ids(&compaction.apply(&messages, &endpoint())), whole);
        compaction.leave_out(&["1".into(), "3".into()], &messages);
        assert_eq!(compaction.through.as_deref(), Some("3"));
        assert_eq!(compaction.kept, ["2"]);
        assert_eq!(ids(&compaction.carried(&messages)), ["2", "4", "5"]);
        let before = compaction.clone();
        compaction.leave_out(&["2".into(), "4".into()], &messages);
        assert_eq!(ids(&compaction.carried(&messages)), ["5"]);
        assert!(compaction.kept.is_empty());
        let new = compaction.newly_left_out(&before, &messages);
        assert_eq!(ids(&new), ["2", "4"]);
    }

    #[test]
    fn a_summary_comes_first_unless_its_messages_are_gone() {
        let messages = users(&["1", "2"]);
        let mut compaction = Compaction {
            summary: Some("numbers".to_owned()),
            ..Compaction::default()
        };
        assert_eq!(ids(&compaction.apply(&messages, &endpoint())), ["1", "2"]);
        compaction.leave_out(&["1".into()], &messages);
        let applied = compaction.apply(&messages, &endpoint());
        assert_eq!(ids(&applied), [SUMMARY, "2"]);
        let text = format!("{BEFORE_SUMMARY}\nnumbers");
        assert_eq!(*applied[0], Message::user(SUMMARY, text));
        let other = users(&["7", "8"]);
        assert_eq!(ids(&compaction.apply(&other, &endpoint())), ["7", "8"]);
    }

    #[test]
    fn only_the_provider_that_compacted_is_sent_less() {
        let mut messages = users(&["1", "2"]);
        messages.insert(0, Message::system("s", "Be kind."));
        messages.push(compacted("a"));
        messages.extend(users(&["3"]));
        let mut compaction = Compaction {
            by_provider: Some("a".into()),
            ..Compaction::default()
        };
        assert_eq!(
            ids(&compaction.apply(&messages, &endpoint())),
            ["s", "a", "3"]
        );
        let other = Endpoint {
            provider: "bedrock".to_owned(),
            ..endpoint()
        };
        let all = ["s", "1", "2", "a", "3"];
        assert_eq!(ids(&compaction.apply(&messages, &other)), all);
        // What a summary or the host leaves out later is not sent, and the provider's compaction with it.
        compaction.leave_out(&["1".into(), "2".into(), "a".into()], &messages);
        assert_eq!(ids(&compaction.apply(&messages, &endpoint())), ["s", "3"]);
        compaction.undo(&messages);
        assert_eq!(compaction.undone_through.as_deref(), Some("a"));
        assert!(!compaction.is_any());
        let whole = compaction.apply(&messages, &endpoint());
        assert_eq!(ids(&whole), all);
        assert_eq!(encrypted(&whole[3]), None);
        let next = compacted("b");
        messages.push(next.clone());
        let whole = compaction.apply(&messages, &endpoint());
        assert_eq!(
            whole.last().map(|message| &**message),
            Some(&next),
            "only what was undone is taken out"
        );
    }

    #[test]
    fn old_results_become_a_marker_and_new_ones_stay() {
        let long = "x".repeat(200);
        let messages = [
            result("1", &long),
            result("2", "short"),
            result("3", &long),
            assistant("a"),
            result("4", &long),
        ];
        let mut compaction = Compaction::default();
        assert_eq!(compaction.drop_results(2, &messages), 1);
        assert_eq!(compaction.results_through.as_deref(), Some("2"));
        assert_eq!(compaction.drop_results(2, &messages), 0, "nothing is new");
        // The model has not seen the last result.
        assert_eq!(compaction.drop_results(0, &messages), 1);
        let endpoint = endpoint();
        let texts: Vec<_> = compaction
            .apply(&messages, &endpoint)
            .iter()
            .filter_map(|message| match &**message {
                Message::Tool(result) => Some(result.content.to_text()),
                _ => None,
            })
            .collect();
        assert_eq!(texts, [RESULT_LEFT_OUT, "short", RESULT_LEFT_OUT, &long]);
    }
}
