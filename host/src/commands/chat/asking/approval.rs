use super::unanswered;
use crate::commands::chat::prompt::{Line, Prompt};
use serde::de::IgnoredAny;
use stepwell_demo::Failure;
use stepwell_demo::terminal::{Shown, revealed};
use stepwell_io::tool::{Decision, ToolInvocation};

/// The user's input about a call.
#[derive(Debug, PartialEq)]
enum TypedDecision {
    Yes,
    No(Option<String>),
    /// With these arguments, or with those that are typed next.
    Edit(Option<String>),
    Unclear,
}

impl TypedDecision {
    fn read(line: &str) -> Self {
        let line = line.trim();
        let end = line.find(|character: char| !character.is_alphabetic());
        let (word, rest) = line.split_at(end.unwrap_or(line.len()));
        let rest = rest.trim_start_matches([',', ':', ' ', '\t']);
        let rest = (!rest.is_empty()).then(|| rest.to_owned());
        match (word.to_lowercase().as_str(), rest) {
            ("y" | "yes", None) => Self::Yes,
            ("n" | "no", reason) => Self::No(reason),
            ("e" | "edit", arguments) => Self::Edit(arguments),
            _ => Self::Unclear,
        }
    }
}

/// Asks whether a call may run. `None` if the user stops the turn instead.
pub(super) async fn approve(
    invocation: &ToolInvocation,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<Option<Decision>, Failure> {
    let arguments = invocation.arguments.raw.as_str();
    shown.asks(&invocation.name, arguments)?;
    loop {
        let line = prompt
            .ask("may it run? yes, no (and why), edit › ", "")
            .await?;
        let text = match line {
            Line::Text(text) => text,
            Line::Interrupted => return Ok(None),
            Line::End => return Ok(Some(unanswered())),
        };
        return match TypedDecision::read(&text) {
            TypedDecision::Yes => Ok(Some(Decision::Granted)),
            TypedDecision::No(reason) => Ok(Some(Decision::Denied { reason })),
            TypedDecision::Edit(typed) => edit(invocation, typed, prompt, shown).await,
            TypedDecision::Unclear => {
                shown.remark("say yes, no, no with a reason, or edit")?;
                continue;
            }
        };
    }
}

/// Asks for other arguments until they are JSON, unless the user has typed such already.
async fn edit(
    invocation: &ToolInvocation,
    mut typed: Option<String>,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<Option<Decision>, Failure> {
    let initial = revealed(invocation.arguments.raw.as_str());
    loop {
        let arguments = match typed.take() {
            Some(arguments) => arguments,
            None => match prompt.ask("arguments › ", &initial).await? {
                Line::Text(text) => text,
                Line::Interrupted => return Ok(None),
                Line::End => return Ok(Some(unanswered())),
            },
        };
        match serde_json::from_str::<IgnoredAny>(&arguments) {
            Ok(_) => {
                shown.edited(&invocation.tool_call_id, &arguments)?;
                return Ok(Some(Decision::Edited { arguments }));
            }
            Err(error) => shown.remark(&format!("these arguments are not JSON: {error}"))?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TypedDecision;

    #[test]
    fn answer_is_parsed() {
        let some = |text: &str| Some(text.to_owned());
        for (line, read) in [
            ("y", TypedDecision::Yes),
            (" Yes ", TypedDecision::Yes),
            ("n", TypedDecision::No(None)),
            ("no, it is Sunday", TypedDecision::No(some("it is Sunday"))),
            ("N: never", TypedDecision::No(some("never"))),
            ("e", TypedDecision::Edit(None)),
            (r#"edit {"a": 1}"#, TypedDecision::Edit(some(r#"{"a": 1}"#))),
            ("", TypedDecision::Unclear),
            ("yes but", TypedDecision::Unclear),
            ("yesterday", TypedDecision::Unclear),
            ("nope", TypedDecision::Unclear),
        ] {
            assert_eq!(TypedDecision::read(line), read, "{line}");
        }
    }
}
