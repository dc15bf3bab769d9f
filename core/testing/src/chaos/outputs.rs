//! The outputs of the run: the effects that the host must carry out, and the promises that each effect must keep.

use super::stored::next_frame;
use super::{Chaos, Given, Invariant};
use stepwell_core::run::{Block, EDGES, Effect, EffectId, Output, ToolInvocation};

impl Chaos {
    pub(super) fn take_outputs(&mut self) {
        loop {
            let output = match &mut self.journal {
                Some(journal) => journal.poll_output(&mut self.machine),
                None => self.machine.poll_output(),
            };
            let Some(output) = output else { return };
            if let Output::Effect(id, effect) = &output {
                self.take_effect(*id, effect);
            }
            if let Output::Moved(edge) = &output {
                let is_known = EDGES.contains(edge);
                self.ensure(is_known, Invariant::MovesAreInTheTable, || {
                    format!("{edge:?}")
                });
            }
            self.outputs.push(output);
        }
    }

    fn take_effect(&mut self, id: EffectId, effect: &Effect) {
        let mut given = Given::Other;
        match effect {
            Effect::CancelAnswer { .. } => return,
            Effect::CloseStream | Effect::CancelTool => {
                self.given.remove(&id);
                return;
            }
            Effect::Persist {
                blocks, checkpoint, ..
            } => {
                self.take_write(id, blocks, checkpoint);
            }
            Effect::RunTool { invocation } => {
                self.take_call(invocation);
                given = Given::Tool(invocation.clone());
            }
            Effect::OpenStream { request } => {
                self.ensure(!self.is_cancelled, Invariant::CancelIsFinal, || {
                    format!("{id} after a cancel")
                });
                let ready = self.disk.may_open(id);
                self.expect(ready);
                self.check_request(id, request);
                let is_first = self.sent.insert(id);
                self.ensure(is_first, Invariant::KeepsLimits, || {
                    format!("{id} is sent twice: an attempt does not count")
                });
                let mut headers = request.headers.iter();
                // After a crash the ids come again.
                self.resumes_after.remove(&id);
                if let Some((_, last)) = headers.find(|(name, _)| name == "last-event-id")
                    && let Ok(last) = last.parse()
                {
                    self.resumes_after.insert(id, last);
                }
                if request.method == "GET"
                    && let EffectId::Open { hop, .. } = id
                {
                    let frames = self.streams.get(&hop).map_or(&[][..], Vec::as_slice);
                    let next = next_frame(frames, &request.url);
                    self.resumes_after.insert(id, next);
                }
                given = Given::Request;
            }
            Effect::AnswerTool { .. } => {
                let ready = self.disk.may_answer(id);
                self.expect(ready);
                return;
            }
            _ => {}
        }
        let is_new = self.given.insert(id, given).is_none();
        self.ensure(is_new, Invariant::RunsToolsOnce, || {
            format!("{id} is given out while the host has it")
        });
        self.known.push(id);
    }

    fn take_write(&mut self, id: EffectId, blocks: &[Block], checkpoint: &str) {
        let turn = &self.disk.turn;
        let enough = turn.check(&self.machine, blocks, checkpoint, &self.config);
        self.ensure(enough.is_ok(), Invariant::RestoreChangesNothing, || {
            format!("the checkpoint of {id} is another run: {enough:?}")
        });
        let hop = self.machine.hop();
        let written = self.disk.asked(id, blocks, checkpoint, hop);
        self.expect(written);
        for block in blocks {
            let is_next = block.sequence <= self.blocks.len() as u64;
            let known = self
                .blocks
                .entry(block.sequence)
                .or_insert_with(|| block.clone());
            let is_same = known == block;
            self.ensure(is_next && is_same, Invariant::StoredBeforeUsed, || {
                format!("block {} leaves a gap, or has two contents", block.sequence)
            });
        }
    }

    fn take_call(&mut self, invocation: &ToolInvocation) {
        let call = invocation.call;
        self.ensure(!self.is_cancelled, Invariant::CancelIsFinal, || {
            format!("{call:?} runs after a cancel")
        });
        let ready = self.disk.may_run(invocation);
        self.expect(ready);
        let is_refused = self.refused.contains(&call);
        self.ensure(!is_refused, Invariant::RefusalsHold, || {
            format!("{call:?} runs although it was refused")
        });
        let tool = self.config.tools.get(&invocation.name);
        let may_repeat = tool.is_some_and(|tool| tool.idempotent);
        let ran_before = self.ran.contains(&call) || self.ran_ever.contains(&call);
        self.ensure(!ran_before, Invariant::RunsToolsOnce, || {
            format!("{call:?} runs twice")
        });
        self.ran.push(call);
        if !may_repeat {
            self.ran_ever.push(call);
        }
    }
}
