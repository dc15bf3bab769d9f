//! Tools that ask the user in a chat: before they run, and while they run.

mod approval;
mod question;

pub(super) use question::{Reply, ask_until_valid, hint, read_answer};

use super::prompt::Prompt;
use futures::FutureExt;
use futures::future::BoxFuture;
use stepwell_demo::Failure;
use stepwell_demo::terminal::Shown;
use stepwell_io::tool::{Decision, Question, ToolInvocation, UserAnswer};
use tokio::sync::{mpsc, oneshot};

const NO_ANSWER: &str = "nobody answered";

/// The question of a tool, and the receiver of the answer.
pub(super) enum Asking {
    /// The question whether the tool may run.
    Approval {
        invocation: ToolInvocation,
        answer: oneshot::Sender<Decision>,
    },
    /// A question of a running tool.
    Question {
        invocation: ToolInvocation,
        question: Question,
        answer: oneshot::Sender<UserAnswer>,
    },
}

/// The questions of tools, in their order.
pub(super) type Asked = mpsc::UnboundedReceiver<Asking>;

/// The channel on which tools ask.
pub(super) type Ask = mpsc::UnboundedSender<Asking>;

/// Returns the approver of an agent, which asks the user.
pub(super) fn approver(
    ask: Ask,
) -> impl Fn(ToolInvocation) -> BoxFuture<'static, Decision> + Send + Sync + 'static {
    move |invocation| {
        let (answer, decision) = oneshot::channel();
        // Without a receiver the answer is dropped with the question.
        let _ = ask.send(Asking::Approval { invocation, answer });
        async move { decision.await.unwrap_or_else(|_| unanswered()) }.boxed()
    }
}

/// Returns the answerer of an agent, which asks the user what a running tool asks.
pub(super) fn answerer(
    ask: Ask,
) -> impl Fn(ToolInvocation, Question) -> BoxFuture<'static, UserAnswer> + Send + Sync + 'static {
    move |invocation, question| {
        let (answer, answered) = oneshot::channel();
        // Without a receiver the answer is dropped with the question.
        let _ = ask.send(Asking::Question {
            invocation,
            question,
            answer,
        });
        let declined = |_| UserAnswer::declined(NO_ANSWER);
        async move { answered.await.unwrap_or_else(declined) }.boxed()
    }
}

fn unanswered() -> Decision {
    Decision::Denied {
        reason: Some(NO_ANSWER.to_owned()),
    }
}

/// Asks the user until they have answered, or the question is withdrawn. Returns `false` if the user stops the turn
/// instead.
pub(super) async fn ask(
    asking: Asking,
    prompt: &mut Prompt,
    shown: &mut Shown,
) -> Result<bool, Failure> {
    match asking {
        Asking::Approval {
            invocation,
            mut answer,
        } => {
            let decision = tokio::select! {
                decision = approval::approve(&invocation, prompt, shown) => decision?,
                () = answer.closed() => return withdrawn(shown),
            };
            Ok(send(answer, decision))
        }
        Asking::Question {
            invocation,
            question,
            mut answer,
        } => {
            let said = tokio::select! {
                said = question::answer(&invocation, &question, prompt, shown) => said?,
                () = answer.closed() => return withdrawn(shown),
            };
            Ok(send(answer, said))
        }
    }
}

fn withdrawn(shown: &mut Shown) -> Result<bool, Failure> {
    shown.remark("it is not asked any more")?;
    Ok(true)
}

/// Sends an answer, if the user gave one.
fn send<T>(to: oneshot::Sender<T>, answer: Option<T>) -> bool {
    let is_answered = answer.is_some();
    if let Some(answer) = answer {
        // The turn may have ended while the user typed.
        let _ = to.send(answer);
    }
    is_answered
}
