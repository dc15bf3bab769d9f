//! Activities: what an agent shows of its work.

use super::Transcript;
use super::applied::Applied;
use super::apply::subagent;
use super::patch::patched;
use crate::event::{ActivityDelta, ActivityMessage, ActivitySnapshot, Message};
use serde_json::Value;

impl Transcript {
    pub(super) fn activity_snapshot(&mut self, event: &ActivitySnapshot) {
        let fresh = ActivityMessage {
            id: event.message_id.clone(),
            activity_type: event.activity_type.clone(),
            content: event.content.clone(),
            subagent_run_id: subagent(event.common.as_deref()),
            ..ActivityMessage::default()
        };
        match self.index.message(&event.message_id) {
            None => drop(self.push(Message::Activity(fresh))),
            Some(_) if event.replace == Some(false) => {}
            Some(at) => {
                let metadata = self.messages[at].metadata_mut().take();
                self.messages[at] = Message::Activity(ActivityMessage { metadata, ..fresh });
            }
        }
        self.merge_message_metadata(&event.message_id, event.common.as_deref());
    }

    pub(super) fn activity_delta(&mut self, event: &ActivityDelta) -> Applied {
        let Some(at) = self.index.message(&event.message_id) else {
            return Applied::Ignored(format!(
                "a change of the activity `{}`, which is not there",
                event.message_id
            ));
        };
        let Message::Activity(activity) = &self.messages[at] else {
            return Applied::Ignored(format!(
                "a change of `{}`, which is no activity",
                event.message_id
            ));
        };
        let changed = patched(&Value::Object(activity.content.clone()), &event.patch);
        // The metadata is merged even if the patch does not apply.
        self.merge_message_metadata(&event.message_id, event.common.as_deref());
        match changed {
            Ok(Value::Object(content)) => {
                if let Message::Activity(activity) = &mut self.messages[at] {
                    activity.content = content;
                }
                Applied::Whole
            }
            Ok(_) => Applied::Ignored(
                "a change that makes an activity's content something else than an object".into(),
            ),
            Err(reason) => Applied::Ignored(format!(
                "a change of an activity that does not apply: {reason}"
            )),
        }
    }
}
