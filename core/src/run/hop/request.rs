use super::summary;
use super::window::compact_above;
use crate::dialect::{HttpRequest, ModelRequest, SentMessage};
use crate::run::protocol::{HookSubject, HookedRequest, leave_out_cut, leave_out_refused};
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
        messages: &SentMessage::references(&messages),
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
        messages: messages(turn)
            .into_iter()
            .map(SentMessage::into_message)
            .collect(),
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

fn messages(turn: &Turn) -> Vec<SentMessage<'_>> {
    if let Some(changed) = &turn.changed_request().messages {
        return SentMessage::all(changed);
    }
    let mut messages = turn.compacted_messages();
    leave_out_cut(&mut messages);
    leave_out_refused(&mut messages);
    messages.extend(turn.empty_answer_note().map(SentMessage::from));
    messages
}
