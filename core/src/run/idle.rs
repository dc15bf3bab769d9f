use super::active::Active;
use super::config::RunConfig;
use super::core::Core;
use super::edges::on;
use super::opening::Opening;
use super::output::RunEvent;
use super::typed::{Run, next};
use crate::conversation::Conversation;
use crate::event::{Message, ResumeEntry};
use crate::{RunId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Nothing was asked yet.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "model-check", derive(Clone))]
#[non_exhaustive]
pub struct Idle {}

/// What starts a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The turn's id, unique in the thread, and its first hop's run id, unless the backend makes that
    /// ([`RunIds::Host`](super::RunIds::Host)).
    pub run_id: RunId,
    /// The run that the first hop's continues: that of the last hop of the turn before, for backends that are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    /// What the person says; absent to go on from a history that ends with something the model is to answer.
    pub message: Option<Message>,
    /// The answers to the interrupts that an earlier turn of an AG-UI agent ended with.
    pub resume: Vec<ResumeEntry>,
}

impl Start {
    /// A turn that begins with a message.
    #[must_use]
    pub fn new(run_id: impl Into<RunId>, message: Message) -> Self {
        Self {
            run_id: run_id.into(),
            parent_run_id: None,
            message: Some(message),
            resume: Vec::new(),
        }
    }
}

impl Active for Idle {}

next! {
    /// What the start of a turn leads to.
    Started {
        /// The first request is on its way.
        Opening,
        /// The conversation does not fit the model's context, or the provider does not take what is attached.
        Completed,
    }
}

impl Run<Idle> {
    /// A run that is ready to start, on a conversation as it stands.
    pub fn new(config: Arc<RunConfig>, thread_id: ThreadId, history: Conversation) -> Self {
        Self {
            core: Box::new(Core::new(config, thread_id, history)),
            state: Idle {},
        }
    }

    /// Starts the turn: the first request goes out, if the conversation fits the model's context, and the provider takes
    /// what is attached.
    pub fn start(mut self, start: Start, now: Timestamp) -> Started {
        let core = &mut self.core;
        core.tick(now);
        core.turn.clone_from(&start.run_id);
        core.ids.run_id = start.run_id.clone();
        core.parent_run_id = start.parent_run_id;
        core.resume = start.resume;
        let twice = start
            .message
            .and_then(|message| core.conversation.push(message).err());
        core.begin_turn();
        let thread_id = core.ids.thread_id.clone();
        core.event(RunEvent::Started {
            thread_id,
            run_id: start.run_id,
        });
        if let Some(known) = twice {
            let message =
                format!("the conversation has a message `{known}` already: it was not added again");
            core.event(RunEvent::Warning { message });
        }
        for message in core.offer().warnings.clone() {
            core.event(RunEvent::Warning { message });
        }
        core.begin_hop(0);
        self.goto(on::Start, Opening::new(0)).opening_or_over()
    }
}
