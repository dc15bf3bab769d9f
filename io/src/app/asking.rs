//! How a turn asks the user.

use super::answerer::Answerer;
use super::approver::Approver;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::future::ready;
use std::sync::Arc;
use stepwell_core::run::{Decision, Question, ToolInvocation, UserAnswer};

/// The reason that the model or the tool gets if the code that should ask the user broke off.
pub(crate) const UNASKED: &str = "the user could not be asked";

const CANNOT_ASK: &str = "this app has no way to ask the user";

/// The app's code that asks the user. What has no code waits as data.
#[derive(Clone, Default)]
pub(crate) struct Asking {
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) answerer: Option<Arc<dyn Answerer>>,
}

impl Asking {
    /// Denies and declines where there is no code: for a turn that nothing outside of it can reach.
    pub(crate) fn or_deny(&mut self) {
        self.approver.get_or_insert_with(|| Arc::new(CannotAsk));
        self.answerer.get_or_insert_with(|| Arc::new(CannotAsk));
    }
}

struct CannotAsk;

impl Approver for CannotAsk {
    fn decide(&self, _: ToolInvocation) -> BoxFuture<'static, Decision> {
        let reason = Some(CANNOT_ASK.to_owned());
        ready(Decision::Denied { reason }).boxed()
    }
}

impl Answerer for CannotAsk {
    fn ask(&self, _: ToolInvocation, _: u32, _: Question) -> BoxFuture<'static, UserAnswer> {
        ready(UserAnswer::declined(CANNOT_ASK)).boxed()
    }
}
