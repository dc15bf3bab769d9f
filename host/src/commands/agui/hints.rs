//! Hints: what the protocol allows, but is probably a mistake.

use stepwell_core::event::{Event, Message};
use stepwell_core::tool::parse_arguments;
use stepwell_core::transcript::Transcript;

/// A message, and its advice.
pub(super) type Hint = (String, &'static str);

/// Returns the hint for an event that was just applied.
pub(super) fn of_event(event: &Event, transcript: &Transcript) -> Option<Hint> {
    let (id, is_result) = match event {
        Event::ToolCallEnd(event) => (&event.tool_call_id, false),
        Event::ToolCallResult(event) => (&event.tool_call_id, true),
        _ => return None,
    };
    let messages = transcript.messages().iter();
    let calls = messages.filter_map(|message| match message {
        Message::Assistant(message) => Some(&message.tool_calls),
        _ => None,
    });
    let call = calls.flatten().find(|call| call.id == *id);
    if is_result {
        return call.is_none().then(|| {
            let message = format!("a result for the call `{id}`, which nothing in the stream asked for");
            (message, "give each result the id of its call; only a run that goes on after a question answers one of the run before")
        });
    }
    let call = call?;
    let problem = parse_arguments(&call.function.arguments).err()?;
    let name = &call.function.name;
    let message = format!("the arguments of `{name}` are no JSON: {problem}");
    Some((
        message,
        "send the JSON whole, in as many pieces as you like; no arguments are `{}`",
    ))
}

/// Returns the hints for blocks of server-sent events without data, which no client sees, each with the number of the
/// next event.
pub(super) fn of_blocks(body: &[u8]) -> Vec<(u64, Hint)> {
    let text = String::from_utf8_lossy(body);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut found = Vec::new();
    let (mut event, mut said, mut has_data) = (1, None, false);
    for line in text.split('\n') {
        let field = line.split(':').next().unwrap_or_default();
        match field {
            "" if !line.is_empty() => {}
            "" => {
                if has_data {
                    event += 1;
                } else if let Some(said) = said {
                    let message = format!("a block without data, which begins `{}`", excerpt(said));
                    found.push((event, (message, "put each event behind `data: `")));
                }
                (said, has_data) = (None, false);
            }
            "data" => has_data = true,
            "retry" => {}
            _ => said = said.or(Some(line)),
        }
    }
    found
}

fn excerpt(line: &str) -> String {
    line.chars().take(40).collect()
}
