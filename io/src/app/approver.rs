//! The app's code that asks the user whether a tool may run, and a running tool's questions.

use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use stepwell_core::run::{Decision, Question, ToolInvocation, UserAnswer};
use stepwell_core::tool::{Rejection, ToolRegistry};

/// Asks the user whether a tool may run, and a running tool's questions. Any async closure from a call to a decision
/// asks for approvals; [`AgentBuilder::answerer`](crate::AgentBuilder::answerer) adds one for questions.
///
/// [`Timeouts::approval`](stepwell_core::run::Timeouts::approval) limits how long the user may take: after that the
/// question is dropped, and the model or the tool is notified. A panic counts as a denial.
pub trait Approver: Send + Sync + 'static {
    /// Asks whether a tool may run. Dropping the future stops asking.
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision>;

    /// Asks again: the arguments with which the user replaced the model's do not fit the tool, for the reason `misfit`.
    /// By default the call is denied with that reason.
    fn decide_again(
        &self,
        invocation: ToolInvocation,
        misfit: Rejection,
    ) -> BoxFuture<'static, Decision> {
        tracing::warn!(target: "stepwell", tool = invocation.name, "edited arguments do not fit");
        // The reason repeats the arguments.
        tracing::debug!(target: "stepwell", %misfit);
        let reason = Some(format!("they edited the arguments, and {misfit}"));
        std::future::ready(Decision::Denied { reason }).boxed()
    }

    /// Asks a running tool's question; `number` counts the call's questions from 0. Dropping the future stops asking.
    /// By default the question is declined.
    fn ask(
        &self,
        _invocation: ToolInvocation,
        _number: u32,
        _question: Question,
    ) -> BoxFuture<'static, UserAnswer> {
        std::future::ready(UserAnswer::declined(CANNOT_ASK)).boxed()
    }

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

impl<F, Fut> Approver for F
where
    F: Fn(ToolInvocation) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Decision> + Send + 'static,
{
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision> {
        self(invocation).boxed()
    }
}

const CANNOT_ASK: &str = "this app has no way to ask the user";

/// The app's code for a tool's questions.
pub(crate) type Answerer =
    Arc<dyn Fn(ToolInvocation, Question) -> BoxFuture<'static, UserAnswer> + Send + Sync>;

/// An approver, if the app has one, with separate code for questions.
pub(crate) struct WithAnswerer {
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) answerer: Answerer,
}

impl Approver for WithAnswerer {
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision> {
        match &self.approver {
            Some(approver) => approver.decide(invocation),
            None => std::future::ready(denied(CANNOT_ASK)).boxed(),
        }
    }

    fn decide_again(
        &self,
        invocation: ToolInvocation,
        misfit: Rejection,
    ) -> BoxFuture<'static, Decision> {
        match &self.approver {
            Some(approver) => approver.decide_again(invocation, misfit),
            None => std::future::ready(denied(CANNOT_ASK)).boxed(),
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

/// Asks whether a tool may run, until the machine accepts the decision.
pub(crate) async fn decide(
    approver: Option<Arc<dyn Approver>>,
    tools: &ToolRegistry,
    invocation: ToolInvocation,
) -> Decision {
    let Some(approver) = approver else {
        return denied(CANNOT_ASK);
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
    let asked = catch_panic(asking).await;
    asked.unwrap_or_else(|panic| {
        tracing::error!(target: "stepwell", panic, "the approver broke off");
        denied("the user could not be asked")
    })
}

/// Asks a tool's question, until the machine accepts the answer.
pub(crate) async fn ask(
    approver: Option<Arc<dyn Approver>>,
    invocation: ToolInvocation,
    number: u32,
    question: Question,
) -> UserAnswer {
    let Some(approver) = approver else {
        return UserAnswer::declined(CANNOT_ASK);
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
    let asked = catch_panic(asking).await;
    asked.unwrap_or_else(|panic| {
        tracing::error!(target: "stepwell", panic, "the approver broke off");
        UserAnswer::declined("the user could not be asked")
    })
}
