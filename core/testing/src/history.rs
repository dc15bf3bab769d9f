//! The rules that every provider has for a history.

use stepwell_core::event::Message;

/// Checks that a history is valid for every provider: each tool call has one result, directly after the message with
/// the call, in the order of the calls. This is invariant I8.
///
/// # Errors
/// The first result that is missing, out of order or without a call.
///
/// ```
/// use stepwell_core::event::Message;
/// use stepwell_testing::history::check_history;
///
/// assert!(check_history(&[Message::user("1", "Hello")]).is_ok());
/// ```
pub fn check_history(messages: &[Message]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match message {
            Message::Tool(result) => {
                if open.first() != Some(&result.tool_call_id.as_str()) {
                    let id = &result.tool_call_id;
                    return Err(format!("a result for {id} where one for {open:?} is due"));
                }
                open.remove(0);
            }
            _ if !open.is_empty() => return Err(format!("no result for {open:?}")),
            Message::Assistant(message) => {
                open.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
            }
            _ => {}
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("no result for {open:?}"))
    }
}
