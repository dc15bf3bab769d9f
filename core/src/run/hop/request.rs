use super::summary;
use super::window::compact_above;
use crate::dialect::{HttpRequest, ModelRequest};
use crate::event::Message;
use crate::run::protocol::{HookSubject, HookedRequest, without_cut, without_refused};
use crate::run::turn::Turn;
use std::borrow::Cow;

/// The request of the hop.
pub(in crate::run) fn request(turn: &Turn) -> HttpRequest {
    if turn.is_summarizing() {
        return summary::request(turn);
    }
    if let Some(request) = turn.background_request() {
        return request;
    }
    let config = turn.config();
    let endpoint = turn.endpoint();
    let (instructions, messages) = (instructions(turn), messages(turn));
    let request = ModelRequest {
        endpoint: &endpoint,
        ids: turn.ids(),
        parent_run_id: turn.parent_run_id(),
        instructions: instructions.as_deref(),
        messages: &messages,
        tools: config.tools.definitions(),
        state: turn.asked_state(),
        settings: &config.settings,
        resume: turn.resume(),
        compact_above: compact_above(turn),
        now: turn.now(),
    };
    let mut request = if turn.sums_up() {
        let dialect = config.endpoint.dialect;
        request.with_offer(&turn.offer().without_tools(dialect))
    } else {
        request.with_offer(turn.offer())
    };
    if let Some(id) = turn.resumed_from() {
        let header = ("last-event-id".to_owned(), id.to_owned());
        request.headers.push(header);
    }
    request
}

/// Returns the subject for the hooks that inspect the request.
pub(in crate::run) fn request_subject(turn: &Turn) -> HookSubject {
    HookSubject::Request(HookedRequest {
        thread_id: turn.ids().thread_id.clone(),
        turn: turn.id().clone(),
        hop: turn.hop(),
        instructions: instructions(turn).map(Cow::into_owned),
        messages: messages(turn).into_owned(),
    })
}

fn instructions(turn: &Turn) -> Option<Cow<'_, str>> {
    let changed = turn.changed_request().instructions.as_deref();
    let own = || {
        turn.window()
            .instructions(turn.config().instructions.as_deref())
    };
    changed.map(Cow::Borrowed).or_else(own)
}

fn messages(turn: &Turn) -> Cow<'_, [Message]> {
    match &turn.changed_request().messages {
        Some(changed) => Cow::Borrowed(changed),
        None => {
            let kept = without_refused(without_cut(turn.compacted_messages()));
            match turn.empty_answer_note() {
                None => kept,
                Some(note) => {
                    let mut messages = kept.into_owned();
                    messages.push(note);
                    Cow::Owned(messages)
                }
            }
        }
    }
}
