//! The app's code that asks the user a running tool's questions.

use super::asking::UNASKED;
use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use stepwell_core::run::{Question, ToolInvocation, UserAnswer};

/// Asks the user the questions of running tools: any async closure from a call and its question to an answer. Without an
/// answerer a question waits, and is listed by [`Turn::pending`](crate::Turn::pending).
///
/// [`Timeouts::approval`](stepwell_core::run::Timeouts::approval) limits how long the user may take: after that the
/// question is withdrawn, and the tool is notified. A panic counts as declined.
pub trait Answerer: Send + Sync + 'static {
    /// Asks a running tool's question; `number` counts the call's questions from 0. Dropping the future withdraws the
    /// question: the turn or the call has ended, or the answer came from elsewhere.
    fn ask(
        &self,
        invocation: ToolInvocation,
        number: u32,
        question: Question,
    ) -> BoxFuture<'static, UserAnswer>;

    /// Asks again: the answer does not fit the question's schema, for the reason `misfit`. By default the question is
    /// declined with that reason.
    fn ask_again(
        &self,
        invocation: ToolInvocation,
        _question: Question,
        misfit: String,
    ) -> BoxFuture<'static, UserAnswer> {
        tracing::warn!(target: "stepwell", tool = invocation.name, "an answer does not fit the question");
        let answer =
            UserAnswer::declined(format!("the answer does not fit the question: {misfit}"));
        std::future::ready(answer).boxed()
    }
}

impl<F, Fut> Answerer for F
where
    F: Fn(ToolInvocation, Question) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = UserAnswer> + Send + 'static,
{
    fn ask(
        &self,
        invocation: ToolInvocation,
        _number: u32,
        question: Question,
    ) -> BoxFuture<'static, UserAnswer> {
        self(invocation, question).boxed()
    }
}

/// Asks a tool's question, until the machine accepts the answer.
pub(crate) async fn ask(
    answerer: Arc<dyn Answerer>,
    invocation: ToolInvocation,
    number: u32,
    question: Question,
) -> UserAnswer {
    let asking = async {
        let asked = answerer.ask(invocation.clone(), number, question.clone());
        let mut answer = asked.await;
        while let UserAnswer::Given { value } = &answer {
            let Err(misfit) = question.check(value) else {
                break;
            };
            answer = answerer
                .ask_again(invocation.clone(), question.clone(), misfit)
                .await;
        }
        answer
    };
    let asked = catch_panic(asking).await;
    asked.unwrap_or_else(|panic| {
        tracing::error!(target: "stepwell", panic, "the answerer broke off");
        UserAnswer::declined(UNASKED)
    })
}
