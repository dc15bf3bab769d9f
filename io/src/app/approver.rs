//! Whoever asks the user: whether a tool may run, and what a running tool wants to know.

use crate::base::panic_text;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use stepwell_core::run::{Decision, Question, ToolInvocation, UserAnswer};
use stepwell_core::tool::{Rejection, ToolRegistry};

/// Asks the user: whether a tool may run, and what a running tool wants to know. Any async closure from a call to a
/// decision does the first; for the second it has [`AgentBuilder::answerer`](crate::AgentBuilder::answerer) beside it.
///
/// How long they may take is [`Timeouts::approval`](stepwell_core::run::Timeouts::approval): then the question is
/// dropped, and the model, or the tool, told. A panic counts as no.
pub trait Approver: Send + Sync + 'static {
    /// Asks whether a tool may run. Dropping the future stops asking.
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision>;

    /// Asks again: the arguments that the user put in the place of the model's do not fit the tool, for the reason
    /// given. Without code of its own the call is denied, with that reason.
    fn decide_again(
        &self,
        invocation: ToolInvocation,
        misfit: Rejection,
    ) -> BoxFuture<'static, Decision> {
        tracing::warn!(target: "stepwell", tool = invocation.name, "edited arguments do not fit");
        // It repeats the arguments.
        tracing::debug!(target: "stepwell", %misfit);
        let reason = Some(format!("they edited the arguments, and {misfit}"));
        std::future::ready(Decision::Denied { reason }).boxed()
    }

    /// Asks what a running tool wants to know; `number` counts the call's questions from 0. Dropping the future stops
    /// asking. Without code of its own the question is declined.
    fn ask(
        &self,
        _invocation: ToolInvocation,
        _number: u32,
        _question: Question,
    ) -> BoxFuture<'static, UserAnswer> {
        std::future::ready(UserAnswer::declined(NO_WAY)).boxed()
    }

    /// Asks again: the answer does not fit the question's schema, for the reason given. Without code of its own the
    /// question is declined, with that reason.
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

impl<F, Fut> Approver for F
where
    F: Fn(ToolInvocation) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Decision> + Send + 'static,
{
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision> {
        self(invocation).boxed()
    }
}

const NO_WAY: &str = "this app has no way to ask the user";

/// The app's code for questions.
pub(crate) type Answerer =
    Arc<dyn Fn(ToolInvocation, Question) -> BoxFuture<'static, UserAnswer> + Send + Sync>;

/// An approver, if there is one, with other code for questions.
pub(crate) struct WithAnswerer {
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) answerer: Answerer,
}

impl Approver for WithAnswerer {
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision> {
        match &self.approver {
            Some(approver) => approver.decide(invocation),
            None => std::future::ready(denied(NO_WAY)).boxed(),
        }
    }

    fn decide_again(
        &self,
        invocation: ToolInvocation,
        misfit: Rejection,
    ) -> BoxFuture<'static, Decision> {
        match &self.approver {
            Some(approver) => approver.decide_again(invocation, misfit),
            None => std::future::ready(denied(NO_WAY)).boxed(),
        }
    }

    fn ask(
        &self,
        invocation: ToolInvocation,
        _number: u32,
        question: Question,
    ) -> BoxFuture<'static, UserAnswer> {
        (self.answerer)(invocation, question)
    }
}

fn denied(reason: &str) -> Decision {
    Decision::Denied {
        reason: Some(reason.to_owned()),
    }
}

/// Asks whether a tool may run, until the answer is one that the machine takes.
pub(crate) async fn decide(
    approver: Option<Arc<dyn Approver>>,
    tools: &ToolRegistry,
    invocation: ToolInvocation,
) -> Decision {
    let Some(approver) = approver else {
        return denied(NO_WAY);
    };
    let asking = async {
        let mut decision = approver.decide(invocation.clone()).await;
        while let Decision::Edited { arguments } = &decision {
            let Err(misfit) = tools.check(&invocation.name, arguments) else {
                break;
            };
            decision = approver.decide_again(invocation.clone(), misfit).await;
        }
        decision
    };
    let asked = AssertUnwindSafe(asking).catch_unwind().await;
    asked.unwrap_or_else(|panic| {
        tracing::error!(target: "stepwell", panic = panic_text(&*panic), "the approver broke off");
        denied("the user could not be asked")
    })
}

/// Asks what a tool wants to know, until the answer is one that the machine takes.
pub(crate) async fn ask(
    approver: Option<Arc<dyn Approver>>,
    invocation: ToolInvocation,
    number: u32,
    question: Question,
) -> UserAnswer {
    let Some(approver) = approver else {
        return UserAnswer::declined(NO_WAY);
    };
    let asking = async {
        let asked = approver.ask(invocation.clone(), number, question.clone());
        let mut answer = asked.await;
        while let UserAnswer::Given { value } = &answer {
            let Err(misfit) = question.check(value) else {
                break;
            };
            answer = approver
                .ask_again(invocation.clone(), question.clone(), misfit)
                .await;
        }
        answer
    };
    let asked = AssertUnwindSafe(asking).catch_unwind().await;
    asked.unwrap_or_else(|panic| {
        tracing::error!(target: "stepwell", panic = panic_text(&*panic), "the approver broke off");
        UserAnswer::declined("the user could not be asked")
    })
}
