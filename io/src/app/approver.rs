//! The app's code that asks the user whether a tool may run.

use super::asking::UNASKED;
use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use stepwell_core::run::{Decision, ToolInvocation};
use stepwell_core::tool::{Rejection, ToolRegistry};

/// Asks the user whether a tool may run: any async closure from a call to a decision. Without an approver a call that
/// needs the user's approval waits, and is listed by [`Turn::pending`](crate::Turn::pending).
///
/// [`Timeouts::approval`](stepwell_core::run::Timeouts::approval) limits how long the user may take: after that the
/// question is withdrawn, and the model is notified. A panic counts as a denial.
pub trait Approver: Send + Sync + 'static {
    /// Asks whether a tool may run. Dropping the future withdraws the question: the turn has ended, or has the decision
    /// from elsewhere.
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

/// Asks whether a tool may run, until the machine accepts the decision.
pub(crate) async fn decide(
    approver: Arc<dyn Approver>,
    tools: &ToolRegistry,
    invocation: ToolInvocation,
) -> Decision {
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
        Decision::Denied {
            reason: Some(UNASKED.to_owned()),
        }
    })
}
