use super::{History, Rules};
use crate::event::{AssistantMessage, Message};
use std::borrow::Cow;

/// What stands where the person's first words should.
const BEGINNING: &str = "(The conversation goes on.)";
/// What stands where the person's next words should.
const GO_ON: &str = "(Go on.)";
/// What stands where the model's answer should.
const CUT_OFF: &str = "(The answer was cut off.)";

fn is_system(message: &Message) -> bool {
    matches!(message, Message::System(_) | Message::Developer(_))
}

/// Moves the system messages to the front, where they must be.
pub(super) fn system_first(history: &mut History<'_>, rules: &Rules<'_>) {
    if rules.system_first {
        history.sort_by_key(|message| !is_system(message));
    }
}

/// Fills the gaps that the provider does not accept in a conversation.
pub(super) fn complete(history: &mut History<'_>, rules: &Rules<'_>) {
    let speaks = |message: &Cow<'_, Message>| !is_system(message);
    match history.iter().position(speaks) {
        None => history.push(user(BEGINNING)),
        Some(first) => {
            if rules.begins_with_person && !matches!(*history[first], Message::User(_)) {
                history.insert(first, user(BEGINNING));
            }
        }
    }
    if rules.answers_results {
        let is_gap = |pair: &[Cow<'_, Message>]| {
            matches!(*pair[0], Message::Tool(_)) && matches!(*pair[1], Message::User(_))
        };
        let gaps: Vec<_> = history
            .windows(2)
            .enumerate()
            .filter(|(_, pair)| is_gap(pair))
            .map(|(at, _)| at + 1)
            .collect();
        for at in gaps.into_iter().rev() {
            let cut_off = Message::Assistant(AssistantMessage {
                content: Some(CUT_OFF.to_owned()),
                ..AssistantMessage::default()
            });
            history.insert(at, Cow::Owned(cut_off));
        }
    }
    if rules.ends_with_input
        && let Some(Message::Assistant(_)) = history.last().map(|message| &**message)
    {
        history.push(user(GO_ON));
    }
}

fn user<'a>(text: &str) -> Cow<'a, Message> {
    Cow::Owned(Message::user("", text))
}
