//! The model checker's view of the recorder.

use super::Recorder;
use super::stream::StreamOf;
use crate::event::{Message, TokenUsage};
use crate::run::abstraction::{Abstraction, json};
use crate::run::protocol::{Block, BlockContent};
use std::hash::{Hash, Hasher};

impl Recorder {
    /// Feeds the canonical form to a hasher.
    pub(crate) fn canon(
        &self,
        forgets_blocks: bool,
        abstraction: &Abstraction,
        out: &mut impl Hasher,
    ) {
        let Self {
            attempts: _,
            next,
            durable,
            queued,
            in_flight,
            failures,
            recorded,
            marks,
            touched,
            rewritten,
            state_changed,
            // Decides nothing but what a checkpoint repeats.
            streams: _,
            counted,
            closing,
            is_last,
            // Taken up within the same input.
            notes: _,
        } = self;
        (failures, closing, is_last).hash(out);
        json(&(touched, rewritten, state_changed), out);
        if !forgets_blocks {
            abstraction.number(*next, *durable).hash(out);
        }
        if !abstraction.numbers {
            durable.hash(out);
        }
        for blocks in [queued, in_flight] {
            blocks.is_empty().hash(out);
            for block in blocks.iter().filter(|_| !forgets_blocks) {
                canon_block(block, *durable, abstraction, out);
            }
            u8::MAX.hash(out);
        }
        if !abstraction.history {
            json(&(recorded, marks, counted), out);
        }
    }

    /// Feeds the part of the stream that is not recorded yet.
    pub(crate) fn canon_stream(&self, of: &StreamOf<'_>, out: &mut impl Hasher) {
        if self.attempts.is_none() {
            return;
        }
        let messages = of.transcript().messages();
        for message in messages.get(self.stream_start(of)..).unwrap_or_default() {
            let length = match message {
                Message::Assistant(message) => message.content.as_deref().map_or(0, str::len),
                Message::Reasoning(message) => message.content.len(),
                _ => 0,
            };
            let id = message.id();
            let done = self.recorded.iter().find(|entry| entry.0 == *id);
            let left = length - done.map_or(0, |entry| entry.1).min(length);
            (done.is_some(), left).hash(out);
        }
    }

    /// Feeds whether the hop's usage is recorded.
    pub(crate) fn canon_usage(&self, hop: u32, usage: &[TokenUsage], out: &mut impl Hasher) {
        let counted = self.counted;
        (counted.is_some(), counted == Some(hop), usage.is_empty()).hash(out);
    }
}

fn canon_block(block: &Block, durable: u64, abstraction: &Abstraction, out: &mut impl Hasher) {
    abstraction.number(block.sequence, durable).hash(out);
    block.hop.hash(out);
    match &block.content {
        // Their deadlines are times, which the clocks have too.
        BlockContent::ApprovalAsked { call, .. } => return (14u8, call).hash(out),
        BlockContent::QuestionAsked { call, number, .. } => {
            return (15u8, call, number).hash(out);
        }
        BlockContent::Deferred { call, .. } => return (5u8, call).hash(out),
        content if !abstraction.history => return json(content, out),
        _ => {}
    }
    // A write goes to the host as it is: its contents decide nothing.
    match &block.content {
        BlockContent::Message { .. } => 8u8.hash(out),
        BlockContent::Messages { .. } => 9u8.hash(out),
        BlockContent::State { .. } => 10u8.hash(out),
        BlockContent::ModelChanged { .. } => 20u8.hash(out),
        BlockContent::AnswerStored { .. } => 21u8.hash(out),
        BlockContent::Compacted { .. } => 22u8.hash(out),
        BlockContent::Usage { .. } => 11u8.hash(out),
        BlockContent::Text { .. } => 0u8.hash(out),
        BlockContent::Reasoning { .. } => 1u8.hash(out),
        BlockContent::ToolUse { call, .. } => (2u8, call).hash(out),
        BlockContent::Approval { call, .. } => (3u8, call).hash(out),
        BlockContent::ToolResult { call, .. } => (4u8, call).hash(out),
        BlockContent::Steering { .. } => 6u8.hash(out),
        BlockContent::Resumed { .. } => 7u8.hash(out),
        BlockContent::Answer { call, number, .. } => (12u8, call, number).hash(out),
        BlockContent::HooksPassed { call, .. } => (13u8, call).hash(out),
        BlockContent::ApprovalAsked { .. }
        | BlockContent::QuestionAsked { .. }
        | BlockContent::Deferred { .. } => {}
    }
}
