//! The hooks of an agent.

use super::{HookAnswer, HookMoment, HookSubject};
use crate::error::CallbackError;
use crate::task::Reply;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use stepwell_core::run;

/// The code of a hook.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait Hook: Send + Sync {
    /// Inspects the subject. An error, or an exception, fails the turn with the hook's name. When the turn is
    /// cancelled, so is the call.
    async fn look(&self, subject: HookSubject) -> Result<HookAnswer, CallbackError>;
}

/// A hook with its code.
#[derive(Clone, uniffi::Record)]
pub struct AgentHook {
    /// The hook's name, for refusals.
    pub name: String,
    /// The moments when the hook is asked.
    pub moments: Vec<HookMoment>,
    /// The code of the hook.
    pub hook: Arc<dyn Hook>,
}

impl From<AgentHook> for stepwell_io::hook::Hook {
    fn from(hook: AgentHook) -> Self {
        let moments = hook.moments.into_iter().map(Into::into);
        Self::with_handler(hook.name, moments, Hooking(hook.hook))
    }
}

/// The app's hook, as the driver calls it.
pub(crate) struct Hooking(Arc<dyn Hook>);

impl stepwell_io::hook::HookHandler for Hooking {
    fn look(&self, _hook: &str, subject: run::HookSubject) -> BoxFuture<'static, run::HookAnswer> {
        let hook = Arc::clone(&self.0);
        async move {
            let looked = hook.look(subject.into()).await;
            looked.map(run::HookAnswer::from).into()
        }
        .boxed()
    }
}

/// A subject for a hook to inspect. A task that is dropped without an answer counts as failed.
#[derive(Debug, uniffi::Object)]
pub struct HookTask {
    pub(crate) id: u64,
    pub(crate) hook: String,
    pub(crate) subject: HookSubject,
    pub(crate) reply: Reply<HookAnswer>,
}

#[uniffi::export]
impl HookTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the hook's name.
    pub fn hook(&self) -> String {
        self.hook.clone()
    }

    /// Returns what the hook inspects.
    pub fn subject(&self) -> HookSubject {
        self.subject.clone()
    }

    /// Takes the hook's answer. Returns whether the answer was still wanted.
    pub fn finish(&self, answer: HookAnswer) -> bool {
        self.reply.give(answer)
    }
}
