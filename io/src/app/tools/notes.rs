//! What running tools report until the machine takes it: of each tool the last progress and the last partial result.

use crate::base::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use stepwell_core::run::{EffectId, Input, PartialTooLarge};
use stepwell_core::tool::ToolOutput;
use tokio::sync::Notify;

#[derive(Clone, Default)]
pub(crate) struct ToolNotes(Arc<Inner>);

#[derive(Default)]
struct Inner {
    waiting: Mutex<BTreeMap<EffectId, Note>>,
    changed: Notify,
}

#[derive(Default)]
struct Note {
    progress: Option<(Option<f64>, Option<String>)>,
    partial: Option<ToolOutput>,
}

impl ToolNotes {
    pub(crate) fn progress(&self, tool: EffectId, fraction: Option<f64>, message: Option<String>) {
        lock(&self.0.waiting).entry(tool).or_default().progress = Some((fraction, message));
        self.0.changed.notify_one();
    }

    pub(crate) fn partial(&self, tool: EffectId, output: ToolOutput) {
        if let Err(error) = PartialTooLarge::check(&output) {
            tracing::warn!(target: "stepwell", effect = %tool, %error, "a partial result is not shown");
            return;
        }
        lock(&self.0.waiting).entry(tool).or_default().partial = Some(output);
        self.0.changed.notify_one();
    }

    /// Waits for a report. Dropping the future loses none.
    pub(crate) async fn next(&self) -> Input<'static> {
        loop {
            if let Some(input) = self.take() {
                return input;
            }
            self.0.changed.notified().await;
        }
    }

    fn take(&self) -> Option<Input<'static>> {
        let mut waiting = lock(&self.0.waiting);
        let mut entry = waiting.first_entry()?;
        let tool = *entry.key();
        let input = entry.get_mut().take(tool);
        if input.is_none() || entry.get().is_empty() {
            entry.remove();
        }
        input
    }

    /// Takes all reports of a tool.
    pub(crate) fn take_all(&self, tool: EffectId) -> Vec<Input<'static>> {
        let mut note = lock(&self.0.waiting).remove(&tool).unwrap_or_default();
        std::iter::from_fn(|| note.take(tool)).collect()
    }
}

impl Note {
    fn is_empty(&self) -> bool {
        self.progress.is_none() && self.partial.is_none()
    }

    fn take(&mut self, effect: EffectId) -> Option<Input<'static>> {
        if let Some((fraction, message)) = self.progress.take() {
            return Some(Input::ToolProgress {
                effect,
                fraction,
                message,
            });
        }
        let output = self.partial.take()?;
        Some(Input::ToolPartialResult { effect, output })
    }
}
