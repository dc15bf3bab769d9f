use super::NO_ANSWER;
use crate::commands::chat::prompt::{Line, Prompt};
use serde_json::Value;
use stepwell_demo::Failure;
use stepwell_demo::terminal::Shown;
use stepwell_io::tool::{Question, ToolInvocation, UserAnswer};

/// The user's reply to a question.
pub(in crate::commands::chat) enum Reply {
    Value(Value),
    /// An empty line: no answer.
    Declined,
    /// The input has ended.
    End,
    /// The user stops the turn.
    Stop,
}

/// Asks until the user types something that `read` accepts, or refuses to answer.
pub(in crate::commands::chat) async fn ask_until_valid(
    read: impl Fn(&str) -> Result<Value, String>,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<Reply, Failure> {
    loop {
        match prompt.ask("answer (empty: none) › ", "").await? {
            Line::Text(text) if text.trim().is_empty() => return Ok(Reply::Declined),
            Line::Text(text) => match read(&text) {
                Ok(value) => return Ok(Reply::Value(value)),
                Err(misfit) => shown.remark(&format!("that does not fit: {misfit}"))?,
            },
            Line::Interrupted => return Ok(Reply::Stop),
            Line::End => return Ok(Reply::End),
        }
    }
}

/// Asks what a running tool asks. `None` if the user stops the turn instead.
pub(super) async fn answer(
    invocation: &ToolInvocation,
    question: &Question,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<Option<UserAnswer>, Failure> {
    shown.tool_asks(&invocation.name, &question.message)?;
    if let Some(hint) = hint(question) {
        shown.remark(&hint)?;
    }
    let reply = ask_until_valid(|line| read_answer(question, line), prompt, shown).await?;
    Ok(match reply {
        Reply::Value(value) => Some(UserAnswer::Given { value }),
        Reply::Declined => Some(UserAnswer::declined("they did not answer")),
        Reply::End => Some(UserAnswer::declined(NO_ANSWER)),
        Reply::Stop => None,
    })
}

/// Says what the user may answer, if only some answers are valid.
pub(in crate::commands::chat) fn hint(question: &Question) -> Option<String> {
    match (&question.schema["enum"], &question.schema["type"]) {
        (Value::Array(values), _) => {
            let values = values.iter().map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            });
            Some(values.collect::<Vec<_>>().join(", "))
        }
        (_, Value::String(kind)) if kind == "boolean" => Some("yes or no".to_owned()),
        (_, Value::String(kind)) if kind == "object" || kind == "array" => {
            Some(format!("JSON that fits {}", question.schema))
        }
        _ => None,
    }
}

/// Converts what the user typed to a value that the question accepts: a string if one fits, else JSON, yes or no.
pub(in crate::commands::chat) fn read_answer(
    question: &Question,
    line: &str,
) -> Result<Value, String> {
    let line = line.trim();
    let text = Value::String(line.to_owned());
    let misfit = match question.check(&text) {
        Ok(()) => return Ok(text),
        Err(misfit) => misfit,
    };
    let word = match line.to_lowercase().as_str() {
        "y" | "yes" => Some(Value::Bool(true)),
        "n" | "no" => Some(Value::Bool(false)),
        _ => serde_json::from_str(line).ok(),
    };
    match word {
        Some(value) => question.check(&value).map(|()| value),
        None => Err(misfit),
    }
}

#[cfg(test)]
mod tests {
    use super::{hint, read_answer};
    use serde_json::{Value, json};
    use stepwell_io::tool::Question;

    #[test]
    fn answer_is_parsed_by_schema() {
        let yes_or_no = Question::yes_or_no("Sure?");
        let choice = Question::choice("Which?", ["small", "7"]);
        let number = Question::new("How many?", json!({ "type": "integer" }));
        for (question, line, read) in [
            (&"Who?".into(), " Ada ", Some(json!("Ada"))),
            (&"Who?".into(), "yes", Some(json!("yes"))),
            (&yes_or_no, "Yes", Some(json!(true))),
            (&yes_or_no, "n", Some(json!(false))),
            (&yes_or_no, "perhaps", None),
            (&choice, "7", Some(json!("7"))),
            (&choice, "large", None),
            (&number, "12", Some(json!(12))),
            (&number, "twelve", None),
        ] {
            assert_eq!(read_answer(question, line).ok(), read, "{line}");
        }
        assert_eq!(hint(&choice).as_deref(), Some("small, 7"));
        assert_eq!(hint(&Question::new("?", Value::Null)), None);
    }
}
