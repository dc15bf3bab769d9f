use super::super::answer::whole;
use super::super::{DecodeError, HopIds, Sink};
use crate::event::{EventRef, ToolCallEnd, ToolCallStart, Violation};
use crate::{MessageId, ToolCallId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The most calls of one hop.
const MOST_CALLS: usize = 1_023;

/// The most that is held of the arguments of a call whose name has not come yet, in bytes.
const MOST_HELD: usize = 64 * 1024;

/// A piece of a call, as one item of `delta.tool_calls` has it. What is empty on the wire is absent here.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragment<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: Option<Cow<'a, str>>,
}

/// The calls of one hop, in the order of their first appearance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Where the call with a wire index is. The index is the peer's number: a key, never a place.
    by_index: BTreeMap<u64, usize>,
    /// The first call of the last chunk that began calls without an index: where their positions count from.
    batch: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Call {
    /// The provider's id.
    wire_id: Option<String>,
    /// The id in the events, once it has begun.
    id: Option<ToolCallId>,
    /// The arguments that came before the name.
    held: String,
}

impl Calls {
    /// Finds the calls that a chunk's fragments belong to, and makes room for new ones. Gives no event.
    pub(super) fn place(&mut self, fragments: &[Fragment<'_>]) -> Result<Vec<usize>, DecodeError> {
        let before = self.calls.len();
        let mut slots = Vec::with_capacity(fragments.len());
        for (position, fragment) in fragments.iter().enumerate() {
            let slot = match self.find(fragment, position, before) {
                Some(slot) => slot,
                None => self.add(fragment, before)?,
            };
            let call = &mut self.calls[slot];
            if call.wire_id.is_none() {
                call.wire_id = fragment.id.as_deref().map(str::to_owned);
            }
            let arguments = fragment.arguments.as_deref().unwrap_or_default();
            if call.id.is_none() && call.held.len() + arguments.len() > MOST_HELD {
                return Err(DecodeError::TooMany {
                    what: "bytes of arguments for a tool call without a name",
                    limit: MOST_HELD,
                });
            }
            slots.push(slot);
        }
        Ok(slots)
    }

    /// The call that a fragment goes on with. `before` is how many there were before its chunk.
    fn find(&self, fragment: &Fragment<'_>, position: usize, before: usize) -> Option<usize> {
        if let Some(index) = fragment.index {
            let slot = *self.by_index.get(&index)?;
            // Some servers number every whole call 0. Others make up a new id for each fragment of one call, but do
            // not name it again.
            let other_id = match (&fragment.id, &self.calls[slot].wire_id) {
                (Some(id), Some(known)) => id != known,
                _ => false,
            };
            return (!other_id || fragment.name.is_none()).then_some(slot);
        }
        if let Some(id) = fragment.id.as_deref() {
            return self
                .calls
                .iter()
                .position(|call| call.wire_id.as_deref() == Some(id));
        }
        if fragment.name.is_some() {
            return None;
        }
        // A fragment that says nothing of whose it is. Among calls that began in its own chunk it is the last one's.
        let last = self.calls.len().checked_sub(1)?;
        Some(if last >= before {
            last
        } else {
            (self.batch + position).min(last)
        })
    }

    fn add(&mut self, fragment: &Fragment<'_>, before: usize) -> Result<usize, DecodeError> {
        let slot = self.calls.len();
        if slot == MOST_CALLS {
            return Err(DecodeError::TooMany {
                what: "tool calls",
                limit: MOST_CALLS,
            });
        }
        self.calls.push(Call::default());
        match fragment.index {
            Some(index) => {
                self.by_index.insert(index, slot);
            }
            None => self.batch = before,
        }
        Ok(slot)
    }

    /// The call that has begun under a wire index, if a fragment with `id` goes on with it: for the cursor.
    #[inline]
    pub(super) fn begun(&self, index: u64) -> Option<(usize, Option<&str>)> {
        let slot = *self.by_index.get(&index)?;
        let call = &self.calls[slot];
        call.id.is_some().then_some((slot, call.wire_id.as_deref()))
    }

    /// Whether the fragment begins the call in `slot` in the events: the name has come.
    pub(super) fn begins(&self, slot: usize, fragment: &Fragment<'_>) -> bool {
        self.calls[slot].id.is_none() && fragment.name.is_some()
    }

    /// Says what a placed fragment adds to its call.
    pub(super) fn add_fragment(
        &mut self,
        slot: usize,
        fragment: &Fragment<'_>,
        ids: &HopIds,
        parent: &MessageId,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let arguments = fragment.arguments.as_deref().unwrap_or_default();
        if self.calls[slot].id.is_none() {
            let Some(name) = fragment.name.as_deref() else {
                self.calls[slot].held.push_str(arguments);
                return Ok(());
            };
            let id = self.unique_id(slot, ids);
            let call = &mut self.calls[slot];
            call.id = Some(id.clone());
            whole(
                sink,
                ToolCallStart {
                    tool_call_id: id,
                    tool_call_name: name.to_owned(),
                    parent_message_id: Some(parent.clone()),
                    common: None,
                },
            )?;
            let held = std::mem::take(&mut call.held);
            self.arguments(slot, &held, sink)?;
        }
        self.arguments(slot, arguments, sink)
    }

    /// A piece of the arguments of a call that has begun.
    #[inline]
    pub(super) fn arguments(
        &self,
        slot: usize,
        delta: &str,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        match self.calls.get(slot).and_then(|call| call.id.as_ref()) {
            Some(id) if !delta.is_empty() => sink.event(EventRef::ToolCallArgs {
                tool_call_id: id,
                delta,
            }),
            _ => Ok(()),
        }
    }

    /// The provider's id, or a made one where there is none, or where another call of the hop has it.
    fn unique_id(&self, slot: usize, ids: &HopIds) -> ToolCallId {
        let free = |id: &ToolCallId| self.calls.iter().all(|call| call.id.as_ref() != Some(id));
        let given = self.calls[slot].wire_id.as_deref().map(ToolCallId::from);
        given.filter(free).unwrap_or_else(|| {
            let mut index = slot;
            loop {
                let id = ids.tool_call(index);
                if free(&id) {
                    return id;
                }
                index += 1;
            }
        })
    }

    /// The hop is done: all calls are whole.
    pub(super) fn end(&self, sink: &mut dyn Sink) -> Result<(), Violation> {
        for call in &self.calls {
            match &call.id {
                Some(id) => whole(
                    sink,
                    ToolCallEnd {
                        tool_call_id: id.clone(),
                        common: None,
                    },
                )?,
                None => sink.warning("a tool call without a name was left out: no tool can run it"),
            }
        }
        Ok(())
    }
}
