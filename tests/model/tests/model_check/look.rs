//! Looking at histories and requests.

use serde::Deserialize;
use stepwell_core::event::{Message, MessageContent};

/// I8: each call of a history is answered once, right after the message that asks, in the order of the calls. Gives
/// the results.
pub fn history(messages: &[Message]) -> Result<Vec<(String, String)>, String> {
    let mut asked: Vec<&str> = Vec::new();
    let mut results = Vec::new();
    for message in messages {
        match message {
            Message::Tool(result) => {
                if asked.first() != Some(&result.tool_call_id.as_str()) {
                    return Err(format!(
                        "a result for {} where one for {asked:?} is due",
                        result.tool_call_id
                    ));
                }
                asked.remove(0);
                let text = match &result.content {
                    MessageContent::Text(text) => text.clone(),
                    MessageContent::Parts(_) => String::new(),
                };
                results.push((result.tool_call_id.to_string(), text));
            }
            _ if !asked.is_empty() => return Err(format!("no result for {asked:?}")),
            Message::Assistant(message) => {
                asked.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
            }
            _ => {}
        }
    }
    if asked.is_empty() {
        Ok(results)
    } else {
        Err(format!("no result for {asked:?}"))
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    messages: Vec<Said<'a>>,
}

#[derive(Deserialize)]
struct Said<'a> {
    role: &'a str,
    #[serde(default, alias = "toolCallId")]
    tool_call_id: Option<&'a str>,
    #[serde(default, borrow, alias = "toolCalls")]
    tool_calls: Vec<Asked<'a>>,
}

#[derive(Deserialize)]
struct Asked<'a> {
    id: &'a str,
}

/// The same of the bytes of a request.
pub fn legal_request(body: &[u8]) -> Result<(), String> {
    let request: Request<'_> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut asked: Vec<&str> = Vec::new();
    for message in &request.messages {
        if message.role == "tool" {
            let result = message.tool_call_id.unwrap_or("none");
            if asked.first() != Some(&result) {
                return Err(format!("a result for {result} where {asked:?} are due"));
            }
            asked.remove(0);
        } else if asked.is_empty() {
            asked.extend(message.tool_calls.iter().map(|call| call.id));
        } else {
            return Err(format!("no result for {asked:?}"));
        }
    }
    if asked.is_empty() {
        Ok(())
    } else {
        Err(format!("no result for {asked:?}"))
    }
}

#[derive(Deserialize)]
struct Responses<'a> {
    #[serde(borrow)]
    input: Vec<Item<'a>>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(default, rename = "type")]
    kind: &'a str,
    #[serde(default)]
    call_id: &'a str,
}

/// The same of the bytes of a request of OpenAI Responses.
pub fn legal_input(body: &[u8]) -> Result<(), String> {
    let request: Responses<'_> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut asked: Vec<&str> = Vec::new();
    for item in &request.input {
        match item.kind {
            "function_call" => asked.push(item.call_id),
            "function_call_output" if asked.first() == Some(&item.call_id) => {
                asked.remove(0);
            }
            "function_call_output" => {
                let result = item.call_id;
                return Err(format!("a result for {result} where {asked:?} are due"));
            }
            _ if asked.is_empty() => {}
            _ => return Err(format!("no result for {asked:?}")),
        }
    }
    if asked.is_empty() {
        Ok(())
    } else {
        Err(format!("no result for {asked:?}"))
    }
}
