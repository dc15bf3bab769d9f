//! Media that the provider does not take: refused where the user attaches them, told in words where they are old.

use crate::dialect::legal::{Rules, taken, untaken};
use crate::event::Message;
use crate::run::protocol::Failure;
use crate::run::turn::Turn;
use crate::sorted::sorted;
use std::collections::BTreeSet;

/// The most messages that a warning names.
const MOST_NAMED: usize = 8;

/// Looks at the media of the messages from `since` on. Of those that are not the user's own of this turn, the model is
/// told in words, and the app with a warning.
///
/// # Errors
/// The user attaches to the turn what the provider does not take.
pub(super) fn look_at(turn: &mut Turn, since: usize) -> Result<(), Failure> {
    let rules = Rules::of(&turn.config().endpoint);
    let provider = rules.provider;
    let messages = turn.conversation().messages().get(since..);
    let (old, attached) = match messages.unwrap_or_default() {
        [old @ .., last @ Message::User(_)] if turn.hop() == 0 => (old, untaken(last, &rules)),
        all => (all, Vec::new()),
    };
    if !attached.is_empty() {
        let kinds = listed(attached);
        let message = format!(
            "{provider} does not take what is attached ({kinds}), and the request was not sent; it takes {}: attach it \
             in one of these forms, or ask another provider",
            taken(&rules)
        );
        return Err(Failure::AttachmentRefused { message });
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

fn listed(kinds: Vec<&'static str>) -> String {
    let kinds: BTreeSet<&str> = sorted(kinds);
    kinds.into_iter().collect::<Vec<_>>().join(", ")
}
