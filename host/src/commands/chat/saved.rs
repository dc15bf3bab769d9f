//! A session as a file.

use serde_json::json;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use stepwell_core::ThreadId;
use stepwell_core::session::{Role, SessionView};
use stepwell_core::transcript::ToolCallStatus;
use stepwell_demo::one_line;

/// Writes the messages to a new file: as JSON if its name ends in .json, else as Markdown.
pub(super) fn save(path: &Path, thread: &ThreadId, view: &SessionView) -> io::Result<()> {
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let text = if is_json {
        json(thread, view)?
    } else {
        markdown(view)
    };
    // An existing file may be something else.
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

fn json(thread: &ThreadId, view: &SessionView) -> io::Result<String> {
    let thread = json!({ "threadId": thread, "messages": view.to_messages() });
    Ok(serde_json::to_string_pretty(&thread)? + "\n")
}

fn markdown(view: &SessionView) -> String {
    let mut text = format!("# {}\n", one_line(&view.title));
    for message in &view.messages {
        let who = match message.role {
            Role::User => "User",
            Role::Assistant => "Model",
            Role::Reasoning | Role::Activity => continue,
        };
        text += &format!("\n## {who}\n");
        let content = message.content.to_text();
        if !content.trim().is_empty() {
            text += &format!("\n{}\n", content.trim());
        }
        for call in &message.tool_executions {
            let sign = match call.status {
                ToolCallStatus::Completed => '✓',
                _ => '✗',
            };
            let result = call.result.as_ref().map(|result| result.to_text());
            let result = one_line(result.as_deref().unwrap_or_default());
            text += &format!("\n> {sign} `{} {}` → {result}\n", call.tool_name, call.args);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_core::Timestamp;
    use stepwell_core::event::Message;
    use stepwell_core::session::ViewOptions;

    #[test]
    fn file_has_messages_and_is_never_overwritten() {
        let messages: Vec<Message> = serde_json::from_value(json!([
            { "id": "1", "role": "user", "content": "What is **6 * 7**?" },
            { "id": "2", "role": "assistant", "content": "Let me see.", "toolCalls": [
                { "id": "c", "type": "function", "function": { "name": "calculator", "arguments": "{\"expression\":\"6 * 7\"}" } }
            ] },
            { "id": "3", "role": "tool", "toolCallId": "c", "content": "42" },
            { "id": "4", "role": "assistant", "content": "It is 42." },
        ]))
        .expect("messages");
        let view = SessionView::of_messages(&messages, Timestamp(0), &ViewOptions::default());
        let text = markdown(&view);
        let said = [
            "## User\n\nWhat is **6 * 7**?\n",
            "## Model\n\nLet me see.\n",
            "\n> ✓ `calculator {\"expression\":\"6 * 7\"}` → 42\n",
            "It is 42.\n",
        ];
        let places: Vec<_> = said.iter().map(|part| text.find(part)).collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{text}"
        );

        let path = std::env::temp_dir().join(format!("stepwell-saved-{}.json", std::process::id()));
        save(&path, &"t".into(), &view).expect("written");
        let again = save(&path, &"t".into(), &view).expect_err("it is there");
        let written = std::fs::read_to_string(&path).expect("a file");
        std::fs::remove_file(&path).expect("it was there");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        let written: serde_json::Value = serde_json::from_str(&written).expect("JSON");
        assert_eq!(written["threadId"], "t");
        assert_eq!(written["messages"][2]["content"], "42");
    }
}
