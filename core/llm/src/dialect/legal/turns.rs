use super::super::anthropic;
use super::{History, Rules};
use crate::dialect::SentMessage;
use crate::event::{AssistantMessage, Message};
use crate::provider::Dialect;

/// The user's first message, where it is missing.
const BEGINNING: &str = "(The conversation goes on.)";
/// The user's next message, where it is missing.
const GO_ON: &str = "(Go on.)";
/// The model's answer, where it is missing.
const CUT_OFF: &str = "(The answer was cut off.)";

fn is_system(message: &Message) -> bool {
    matches!(message, Message::System(_) | Message::Developer(_))
}

/// Moves the system messages to the front, where the provider requires it.
pub(super) fn system_first(history: &mut History<'_>, rules: &Rules<'_>) {
    if rules.system_first {
        let (system, others): (Vec<_>, Vec<_>) = std::mem::take(history)
            .into_iter()
            .partition(|message| is_system(message));
        *history = system;
        history.extend(others);
    }
}

/// Fills the gaps that the provider does not accept in a conversation.
pub(super) fn complete(history: &mut History<'_>, rules: &Rules<'_>) {
    let speaks = |message: &SentMessage<'_>| !is_system(message);
    match history.iter().position(speaks) {
        None => history.push(user(BEGINNING)),
        Some(first) => {
            if rules.begins_with_user && !matches!(*history[first], Message::User(_)) {
                history.insert(first, user(BEGINNING));
            }
        }
    }
    if rules.answers_results {
        let mut is_result = false;
        // Anew: to insert each where it belongs would move all that follows, each time.
        for message in std::mem::take(history) {
            if is_result && matches!(*message, Message::User(_)) {
                history.push(
                    Message::Assistant(AssistantMessage {
                        content: Some(CUT_OFF.to_owned()),
                        ..AssistantMessage::default()
                    })
                    .into(),
                );
            }
            is_result = matches!(*message, Message::Tool(_));
            history.push(message);
        }
    }
    if rules.ends_with_input
        && let Some(Message::Assistant(said)) = history.last().map(|message| &**message)
        && !(rules.dialect == Dialect::Anthropic && anthropic::goes_on(said, rules.provider))
    {
        history.push(user(GO_ON));
    }
}

fn user<'a>(text: &str) -> SentMessage<'a> {
    Message::user("", text).into()
}
