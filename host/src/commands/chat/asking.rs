//! Tools that ask the user in a chat: before they run, and while they do.

use crate::prompt::{Line, Prompt};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::sync::Arc;
use stepwell_demo::Failure;
use stepwell_demo::terminal::{Shown, revealed};
use stepwell_io::{Decision, Question, SourcedTool, ToolInvocation, ToolSource, UserAnswer};
use tokio::sync::{mpsc, oneshot};

/// A tool that asks, and where the answer goes.
pub(super) enum Asking {
    /// Whether it may run.
    Approval {
        invocation: ToolInvocation,
        answer: oneshot::Sender<Decision>,
    },
    /// What it wants to know while it runs.
    Question {
        invocation: ToolInvocation,
        question: Question,
        answer: oneshot::Sender<UserAnswer>,
    },
}

/// The tools that ask, in the order in which they do.
pub(super) type Asked = mpsc::UnboundedReceiver<Asking>;

/// Where tools ask.
pub(super) type Ask = mpsc::UnboundedSender<Asking>;

/// Who asks the user for an agent.
pub(super) fn approver(
    ask: Ask,
) -> impl Fn(ToolInvocation) -> BoxFuture<'static, Decision> + Send + Sync + 'static {
    move |invocation| {
        let (answer, decision) = oneshot::channel();
        // Where nobody listens any more the answer is dropped with the question.
        let _ = ask.send(Asking::Approval { invocation, answer });
        async move { decision.await.unwrap_or_else(|_| nobody()) }.boxed()
    }
}

/// Who asks the user what a running tool wants to know.
pub(super) fn answerer(
    ask: Ask,
) -> impl Fn(ToolInvocation, Question) -> BoxFuture<'static, UserAnswer> + Send + Sync + 'static {
    move |invocation, question| {
        let (answer, answered) = oneshot::channel();
        // Where nobody listens any more the answer is dropped with the question.
        let _ = ask.send(Asking::Question {
            invocation,
            question,
            answer,
        });
        let nobody = || UserAnswer::declined("nobody answered");
        async move { answered.await.unwrap_or_else(|_| nobody()) }.boxed()
    }
}

fn nobody() -> Decision {
    Decision::Denied {
        reason: Some("nobody answered".to_owned()),
    }
}

/// What the user typed.
#[derive(Debug, PartialEq)]
enum Answer {
    Yes,
    No(Option<String>),
    /// With these arguments, or with what is typed next.
    Edit(Option<String>),
    Unclear,
}

impl Answer {
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

/// Asks the user until they have answered, or nobody waits for it any more. `false` if they stop the turn instead.
pub(super) async fn ask(
    asking: Asking,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<bool, Failure> {
    match asking {
        Asking::Approval { invocation, answer } => {
            approve(&invocation, answer, prompt, shown).await
        }
        Asking::Question {
            invocation,
            question,
            answer,
        } => {
            shown.tool_asks(&invocation.name, &question.message)?;
            let hint = choices(&question);
            if !hint.is_empty() {
                shown.remark(&hint)?;
            }
            answer_tool(&question, answer, prompt, shown).await
        }
    }
}

/// What the user may say, where there are so many words for it.
pub(super) fn choices(question: &Question) -> String {
    match (&question.schema["enum"], &question.schema["type"]) {
        (Value::Array(values), _) => {
            let values = values.iter().map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            });
            values.collect::<Vec<_>>().join(", ")
        }
        (_, Value::String(kind)) if kind == "boolean" => "yes or no".to_owned(),
        (_, Value::String(kind)) if kind == "object" || kind == "array" => {
            format!("JSON that fits {}", question.schema)
        }
        _ => String::new(),
    }
}

/// What the user typed, as the question has it: a text as it is where one fits, else JSON, else yes or no.
pub(super) fn read_answer(question: &Question, line: &str) -> Result<Value, String> {
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

async fn answer_tool(
    question: &Question,
    mut answer: oneshot::Sender<UserAnswer>,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<bool, Failure> {
    loop {
        let line = tokio::select! {
            line = prompt.ask("answer (empty: none) › ", "") => line,
            () = answer.closed() => {
                shown.remark("it is not asked any more")?;
                return Ok(true);
            }
        };
        let said = match line {
            Line::Text(text) if text.trim().is_empty() => {
                UserAnswer::declined("they did not answer")
            }
            Line::Text(text) => match read_answer(question, &text) {
                Ok(value) => UserAnswer::Given { value },
                Err(misfit) => {
                    shown.remark(&format!("that does not fit: {misfit}"))?;
                    continue;
                }
            },
            Line::Interrupted => return Ok(false),
            Line::End => UserAnswer::declined("nobody answered"),
            Line::Failed(reason) => {
                return Err(Failure::failed(format!("standard input: {reason}")));
            }
        };
        // The turn may have ended while they typed.
        let _ = answer.send(said);
        return Ok(true);
    }
}

async fn approve(
    invocation: &ToolInvocation,
    mut answer: oneshot::Sender<Decision>,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<bool, Failure> {
    let raw = invocation.arguments.raw.as_str();
    shown.asks(&invocation.name, raw)?;
    let seen = revealed(raw);
    let mut edits = false;
    loop {
        let line = if edits {
            prompt.ask("arguments › ", &seen)
        } else {
            prompt.ask("may it run? yes, no (and why), edit › ", "")
        };
        let line = tokio::select! {
            line = line => line,
            () = answer.closed() => {
                shown.remark("it is not asked any more")?;
                return Ok(true);
            }
        };
        let text = match line {
            Line::Text(text) => text,
            Line::Interrupted => return Ok(false),
            Line::End => {
                let _ = answer.send(nobody());
                return Ok(true);
            }
            Line::Failed(reason) => {
                return Err(Failure::failed(format!("standard input: {reason}")));
            }
        };
        let read = if std::mem::take(&mut edits) {
            Answer::Edit(Some(text))
        } else {
            Answer::read(&text)
        };
        let decision = match read {
            Answer::Yes => Decision::Granted,
            Answer::No(reason) => Decision::Denied { reason },
            Answer::Edit(None) => {
                edits = true;
                continue;
            }
            Answer::Edit(Some(arguments)) => {
                if let Err(error) = serde_json::from_str::<IgnoredAny>(&arguments) {
                    shown.remark(&format!("these arguments are not JSON: {error}"))?;
                    edits = true;
                    continue;
                }
                shown.edited(&invocation.tool_call_id, &arguments)?;
                Decision::Edited { arguments }
            }
            Answer::Unclear => {
                shown.remark("say yes, no, no with a reason, or edit")?;
                continue;
            }
        };
        // The turn may have ended while they typed.
        let _ = answer.send(decision);
        return Ok(true);
    }
}

/// Tools of a source, some of which are to ask before they run.
pub(super) struct AskBefore<S> {
    source: S,
    names: Vec<String>,
    /// What was made of the source's tools last.
    made: std::sync::Mutex<Option<Made>>,
}

struct Made {
    of: Arc<[SourcedTool]>,
    tools: Arc<[SourcedTool]>,
}

impl<S: ToolSource> AskBefore<S> {
    pub(super) fn new(source: S, names: Vec<String>) -> Self {
        Self {
            source,
            names,
            made: std::sync::Mutex::default(),
        }
    }
}

impl<S: ToolSource> ToolSource for AskBefore<S> {
    fn tools(&self) -> Arc<[SourcedTool]> {
        let of = self.source.tools();
        let mut made = self
            .made
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(made) = made.as_ref().filter(|made| Arc::ptr_eq(&made.of, &of)) {
            return Arc::clone(&made.tools);
        }
        let tools = of.iter().cloned().map(|mut sourced| {
            sourced.tool.requires_approval |=
                self.names.iter().any(|name| name == sourced.tool.name());
            sourced
        });
        let tools: Arc<[_]> = tools.collect();
        *made = Some(Made {
            of,
            tools: Arc::clone(&tools),
        });
        tools
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, choices, read_answer};
    use serde_json::{Value, json};
    use stepwell_io::Question;

    #[test]
    fn an_answer_to_a_tool_is_read_by_its_schema() {
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
        assert_eq!(choices(&choice), "small, 7");
        assert_eq!(choices(&Question::new("?", Value::Null)), "");
    }

    #[test]
    fn an_answer_is_read() {
        let some = |text: &str| Some(text.to_owned());
        for (line, read) in [
            ("y", Answer::Yes),
            (" Yes ", Answer::Yes),
            ("n", Answer::No(None)),
            ("no, it is Sunday", Answer::No(some("it is Sunday"))),
            ("N: never", Answer::No(some("never"))),
            ("e", Answer::Edit(None)),
            (r#"edit {"a": 1}"#, Answer::Edit(some(r#"{"a": 1}"#))),
            ("", Answer::Unclear),
            ("yes but", Answer::Unclear),
            ("yesterday", Answer::Unclear),
            ("nope", Answer::Unclear),
        ] {
            assert_eq!(Answer::read(line), read, "{line}");
        }
    }
}
