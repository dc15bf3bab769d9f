//! Media that the provider does not take: refused where the person attaches them, told in words where they are old.

use super::core::Core;
use super::outcome::Failure;
use super::output::RunEvent;
use crate::dialect::legal::{Rules, untaken};
use crate::event::Message;
use crate::sorted::sorted;
use std::collections::BTreeSet;

/// The most messages that a warning names.
const MOST_NAMED: usize = 8;

impl Core {
    /// Looks at the media of the messages from `since` on. What the person attaches to the turn is refused: the turn is
    /// over before its request. Of all others the model is told in words, and the app with a warning. Whether the turn
    /// goes on.
    pub(super) fn look_at_media(&mut self, since: usize) -> bool {
        let rules = Rules::of(&self.config.endpoint);
        let provider = rules.provider;
        let messages = self.conversation.messages().get(since..);
        let (old, attached) = match messages.unwrap_or_default() {
            [old @ .., last @ Message::User(_)] if self.hop == 0 => (old, untaken(last, &rules)),
            all => (all, Vec::new()),
        };
        if !attached.is_empty() {
            let kinds = listed(attached);
            let message = format!(
                "{provider} does not take what is attached ({kinds}), and the request was not sent; attach it in \
                 another form, or ask another provider"
            );
            self.context.failure = Some(Failure::AttachmentRefused { message });
            return false;
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
            return true;
        }
        let more = told.len().saturating_sub(MOST_NAMED);
        told.truncate(MOST_NAMED);
        if more > 0 {
            told.push(format!("those of {more} more messages"));
        }
        let message = format!(
            "{provider} does not take some media of the conversation, and the model is told of them in words: {}",
            told.join(", ")
        );
        self.event(RunEvent::Warning { message });
        true
    }
}

fn listed(kinds: Vec<&'static str>) -> String {
    let kinds: BTreeSet<&str> = sorted(kinds);
    kinds.into_iter().collect::<Vec<_>>().join(", ")
}
