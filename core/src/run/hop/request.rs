use crate::dialect::{HttpRequest, ModelRequest};
use crate::run::protocol::without_cut;
use crate::run::turn::Turn;

/// The request of the hop.
pub(in crate::run) fn request(turn: &Turn) -> HttpRequest {
    let config = turn.config();
    let endpoint = turn.endpoint();
    let window = turn.window();
    let instructions = window.instructions(config.instructions.as_deref());
    let messages = without_cut(window.kept(turn.asked_messages()));
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
