//! Tools that ask the user in a chat before they run.

use crate::prompt::{Line, Prompt};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::IgnoredAny;
use std::sync::Arc;
use stepwell_demo::Failure;
use stepwell_demo::terminal::{Shown, revealed};
use stepwell_io::{Decision, SourcedTool, ToolInvocation, ToolSource};
use tokio::sync::{mpsc, oneshot};

/// A tool that asks, and where the answer goes.
pub(super) struct Asking {
    invocation: ToolInvocation,
    answer: oneshot::Sender<Decision>,
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
        let _ = ask.send(Asking { invocation, answer });
        async move { decision.await.unwrap_or_else(|_| nobody()) }.boxed()
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
    let Asking {
        invocation,
        mut answer,
    } = asking;
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
    use super::Answer;

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
