//! Media that the provider does not accept: new attachments of the user are rejected, older media are replaced by a
//! text for the model.

use crate::dialect::legal::{Rules, garbled, taken, untaken};
use crate::event::Message;
use crate::run::protocol::Failure;
use crate::run::turn::Turn;
use std::collections::BTreeSet;

/// The most messages that a warning names.
const MOST_NAMED: usize = 8;

/// Checks the media of the messages from `since` on. For media that the user did not attach in this turn, the model
/// gets a text instead, and the app a warning.
///
/// # Errors
/// The user attached media to this turn that the provider does not accept, or that are not media at all.
pub(super) fn look_at(turn: &mut Turn, since: usize) -> Result<(), Failure> {
    let rules = Rules::of(&turn.config().endpoint);
    let provider = rules.provider;
    let messages = turn.transcript().messages().get(since..);
    let (old, attached) = match messages.unwrap_or_default() {
        [old @ .., last @ Message::User(_)] if turn.hop() == 0 => (old, Some(last)),
        all => (all, None),
    };
    if let Some(attached) = attached {
        check(attached, &rules)?;
    }
    let mut told: Vec<_> = old
        .iter()
        .filter_map(|message| {
            let kinds = untaken(message, &rules);
            let id = message.id();
            (!kinds.is_empty()).then(|| format!("{} of `{id}`", listed(kinds)))
        })
        .collect();
    if told.is_empty() {
        return Ok(());
    }
    let more = told.len().saturating_sub(MOST_NAMED);
    told.truncate(MOST_NAMED);
    if more > 0 {
        told.push(format!("those of {more} more messages"));
    }
    let told = told.join(", ");
    turn.warn(format!(
        "{provider} does not take some media of the conversation, and the model is told of them in words: {told}"
    ));
    Ok(())
}

/// Checks that all attachments can be sent.
fn check(message: &Message, rules: &Rules<'_>) -> Result<(), Failure> {
    let (garbled, untaken) = (garbled(message), untaken(message, rules));
    let message = if !garbled.is_empty() {
        format!(
            "what is attached ({}) is no base64, and the request was not sent: give its bytes in base64",
            listed(garbled)
        )
    } else if !untaken.is_empty() {
        format!(
            "{} does not take what is attached ({}), and the request was not sent; it takes {}: attach it in one of \
             these forms, or ask another provider",
            rules.provider,
            listed(untaken),
            taken(rules)
        )
    } else {
        return Ok(());
    };
    Err(Failure::AttachmentRefused { message })
}

fn listed(kinds: Vec<&'static str>) -> String {
    let kinds: BTreeSet<&str> = kinds.into_iter().collect();
    kinds.into_iter().collect::<Vec<_>>().join(", ")
}
