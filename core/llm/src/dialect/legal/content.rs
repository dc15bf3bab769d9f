use super::super::encoding::{arguments, as_text};
use super::ids::tool_name;
use super::media::{is_shown, is_taken};
use super::signature::is_signed;
use super::{History, Rules};
use crate::dialect::SentMessage;
use crate::event::{AssistantMessage, ContentPart, Message, MessageContent, TextPart};
use crate::tool::repair_surrogates;
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// The text of a user's message that is empty.
const EMPTY: &str = "(an empty message)";

/// Normalises each message by itself, and drops empty ones.
pub(super) fn clean(history: &mut History<'_>, rules: &Rules<'_>) {
    history.retain_mut(|message| {
        match &**message {
            Message::Activity(_) => return false,
            Message::Developer(said) | Message::System(said) => {
                return !(rules.refuses_blank_text && is_blank(&said.content));
            }
            Message::Reasoning(_) => {}
            Message::User(said) => {
                let is_taken = |part: &ContentPart| is_taken(part, rules);
                if let Some(content) = cleaned(&said.content, rules, EMPTY, is_taken)
                    && let Message::User(said) = message.to_mut()
                {
                    said.content = content;
                }
            }
            Message::Tool(result) => {
                let is_shown = |part: &ContentPart| is_shown(part, result, rules);
                if let Some(content) = cleaned(&result.content, rules, "", is_shown)
                    && let Message::Tool(result) = message.to_mut()
                {
                    result.content = content;
                }
            }
            Message::Assistant(_) => return answer(message, rules),
        }
        true
    });
}

/// Normalises an answer, and returns whether it has any content.
fn answer(message: &mut SentMessage<'_>, rules: &Rules<'_>) -> bool {
    let Message::Assistant(said) = &**message else {
        return true;
    };
    let is_silent = |text: &str| text.is_empty() || (rules.refuses_blank_text && is_blank(text));
    let text = said.content.as_deref().filter(|text| !is_silent(text));
    let calls = said.tool_calls.len();
    let refusal = refusal(said).filter(|text| !is_blank(text));
    if text.is_none() && refusal.is_none() && calls == 0 {
        // A signature may have come without text, and may be wanted back.
        return is_signed(said, rules);
    }
    // No format has a place for a refusal: Responses has one only in an item that is given back by its id.
    let words = match (text, refusal) {
        (Some(text), Some(refusal)) => Some(format!("{text}\n\n{refusal}")),
        (None, words) => words.map(str::to_owned),
        (Some(_), None) => said.content.clone(),
    };
    if (refusal.is_some() || words != said.content)
        && let Message::Assistant(said) = message.to_mut()
    {
        said.content = words;
        if let Some(metadata) = &mut said.metadata {
            metadata.remove("refusal");
        }
    }
    for index in 0..calls {
        call(message, index, rules);
    }
    true
}

/// Returns the model's refusal, if the stream marked it as one.
fn refusal(said: &AssistantMessage) -> Option<&str> {
    said.metadata.as_ref()?.get("refusal")?.as_str()
}

/// Normalises a call's name and arguments.
fn call(message: &mut SentMessage<'_>, index: usize, rules: &Rules<'_>) {
    let Message::Assistant(said) = &**message else {
        return;
    };
    let function = &said.tool_calls[index].function;
    let name = match tool_name(&function.name, rules.tool_names) {
        Cow::Borrowed(_) => None,
        Cow::Owned(name) => Some(name),
    };
    let arguments = (rules.arguments_are_objects && !is_object(&function.arguments))
        .then(|| arguments(&function.arguments).into_owned());
    if name.is_none() && arguments.is_none() {
        return;
    }
    if let Message::Assistant(said) = message.to_mut() {
        let function = &mut said.tool_calls[index].function;
        if let Some(name) = name {
            function.name = name;
        }
        if let Some(arguments) = arguments {
            function.arguments = arguments;
        }
    }
}

/// Returns whether arguments are a JSON object or one of the usual forms of no arguments.
fn is_object(arguments: &str) -> bool {
    let arguments = arguments.trim();
    matches!(arguments, "" | "null")
        || (arguments.starts_with('{')
            && serde_json::from_str::<IgnoredAny>(arguments).is_ok()
            && repair_surrogates(arguments).is_none())
}

/// Returns the content without blank parts, and with descriptions of parts that are not accepted; `None` if there is
/// nothing to change.
fn cleaned(
    content: &MessageContent,
    rules: &Rules<'_>,
    empty: &str,
    is_taken: impl Fn(&ContentPart) -> bool,
) -> Option<MessageContent> {
    let nothing = || {
        let empty = if rules.refuses_blank_text { empty } else { "" };
        MessageContent::Text(empty.to_owned())
    };
    let parts = match content {
        MessageContent::Text(text) => {
            let is_wrong = rules.refuses_blank_text && is_blank(text) && text != empty;
            return is_wrong.then(nothing);
        }
        MessageContent::Parts(parts) => parts,
    };
    let is_kept = |part: &ContentPart| match part {
        ContentPart::Text(part) => {
            !(part.text.is_empty() || (rules.refuses_blank_text && is_blank(&part.text)))
        }
        _ => true,
    };
    let is_legal = |part: &ContentPart| is_kept(part) && is_taken(part);
    if !parts.is_empty() && parts.iter().all(is_legal) {
        return None;
    }
    let kept: Vec<_> = parts
        .iter()
        .filter(|part| is_kept(part))
        .filter_map(|part| {
            if is_taken(part) {
                return Some(part.clone());
            }
            let text = as_text(part)?.into_owned();
            Some(ContentPart::Text(TextPart {
                text,
                ..TextPart::default()
            }))
        })
        .collect();
    Some(if kept.is_empty() {
        nothing()
    } else {
        MessageContent::Parts(kept)
    })
}

pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}
