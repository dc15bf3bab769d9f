use super::super::answer::{check_calls, whole};
use super::super::lenient::Raw;
use super::super::{AnswerLimit, DecodeError, HopIds, Sink};
use crate::event::{EventRef, ToolCallEnd, ToolCallStart, Violation};
use crate::{MessageId, ToolCallId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The most that is held of the arguments of calls whose names have not come yet, in bytes: all that an answer may
/// bring.
const MOST_HELD: usize = 32 * 1024 * 1024;

/// A fragment of a call: one item of `delta.tool_calls`. A field that is empty on the wire is absent here.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragment<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: Option<Cow<'a, str>>,
    /// The JSON of the arguments in the frame.
    pub(super) raw: Raw<'a>,
}

impl Fragment<'_> {
    /// Returns the index of the call that the fragment continues, if only the index decides that. With both an id and a
    /// name the fragment may begin another call.
    pub(super) fn goes_on(&self) -> Option<u64> {
        self.index
            .filter(|_| self.id.is_none() || self.name.is_none())
    }
}

/// The calls of a hop, in the order of their first appearance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The slots of calls by their wire index. The index comes from the peer, so it is a key and never a position.
    by_index: BTreeMap<u64, usize>,
    /// The first call of the last chunk that began calls without an index: where their positions count from.
    batch: usize,
}

/// The source of the calls' ids, and the message that they belong to.
type Home<'a> = (&'a HopIds, &'a MessageId);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Call {
    /// The provider's id of the call.
    wire_id: Option<String>,
    /// The id in the events, once it has begun.
    id: Option<ToolCallId>,
    /// The name, of a call that waits for its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The arguments that came before the name.
    held: String,
}

impl Calls {
    /// Finds the calls that a chunk's fragments belong to, and makes room for new ones. Gives no event.
    pub(super) fn place(&mut self, fragments: &[Fragment<'_>]) -> Result<Vec<usize>, DecodeError> {
        let before = self.calls.len();
        let mut slots = Vec::with_capacity(fragments.len());
        let mut held = 0;
        for (position, fragment) in fragments.iter().enumerate() {
            let slot = match self.find(fragment, position, (before, fragments.len()))? {
                Some(slot) => slot,
                None => self.add(fragment, before)?,
            };
            let call = &mut self.calls[slot];
            if call.wire_id.is_none() {
                call.wire_id = fragment.id.as_deref().map(str::to_owned);
            }
            if call.id.is_none() {
                held += fragment.arguments.as_deref().unwrap_or_default().len();
            }
            slots.push(slot);
        }
        if held > 0 {
            held += self.calls.iter().map(|call| call.held.len()).sum::<usize>();
            if held > MOST_HELD {
                return Err(AnswerLimit::held(MOST_HELD).into());
            }
        }
        Ok(slots)
    }

    /// Returns the call that a fragment continues. `fragments` is the number of fragments in its chunk, `before` the
    /// number of calls before the chunk.
    fn find(
        &self,
        fragment: &Fragment<'_>,
        position: usize,
        (before, fragments): (usize, usize),
    ) -> Result<Option<usize>, DecodeError> {
        if let Some(index) = fragment.index {
            let Some(&slot) = self.by_index.get(&index) else {
                return Ok(None);
            };
            // Some servers give every complete call the index 0. Others create a new id for each fragment of one call,
            // but do not repeat its name.
            let other_id = match (&fragment.id, &self.calls[slot].wire_id) {
                (Some(id), Some(known)) => id != known,
                _ => false,
            };
            return Ok((!other_id || fragment.name.is_none()).then_some(slot));
        }
        let waits = |call: &Call| call.id.is_none() && call.wire_id.is_none();
        if let Some(id) = fragment.id.as_deref() {
            let known = |call: &Call| call.wire_id.as_deref() == Some(id);
            if let Some(slot) = self.calls.iter().position(known) {
                return Ok(Some(slot));
            }
            // An id that comes after the name.
            let named = |call: &Call| call.name.is_some() && waits(call);
            return Ok(match fragment.name {
                None => self.calls.iter().position(named),
                Some(_) => None,
            });
        }
        if fragment.name.is_some() {
            return Ok(None);
        }
        // A fragment without index, id and name. Among calls that began in its own chunk it belongs to the last one.
        let Some(last) = self.calls.len().checked_sub(1) else {
            return Ok(None);
        };
        if last >= before {
            return Ok(Some(last));
        }
        if fragments < self.calls.len() - self.batch {
            return Err(DecodeError::Unplaced {
                what: "a piece of a tool call",
                reason: "it has neither index nor id, and several calls have begun side by side",
            });
        }
        Ok(Some((self.batch + position).min(last)))
    }

    fn add(&mut self, fragment: &Fragment<'_>, before: usize) -> Result<usize, DecodeError> {
        let slot = self.calls.len();
        check_calls(slot + 1)?;
        self.calls.push(Call::default());
        match fragment.index {
            Some(index) => {
                self.by_index.insert(index, slot);
            }
            None => self.batch = before,
        }
        Ok(slot)
    }

    /// Returns the call that has begun under a wire index.
    #[inline]
    pub(super) fn begun(&self, index: u64) -> Option<usize> {
        let slot = *self.by_index.get(&index)?;
        self.calls[slot].id.is_some().then_some(slot)
    }

    /// Returns whether the fragment begins the call in `slot` in the events: its name is known, and its id, or
    /// arguments have come first.
    pub(super) fn begins(&self, slot: usize, fragment: &Fragment<'_>) -> bool {
        let call = &self.calls[slot];
        call.id.is_none()
            && (fragment.name.is_some() || call.name.is_some())
            && (call.wire_id.is_some() || fragment.arguments.is_some() || !call.held.is_empty())
    }

    /// Emits the delta of a fragment whose call is known.
    pub(super) fn add_fragment(
        &mut self,
        slot: usize,
        fragment: &Fragment<'_>,
        home: Home<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        let arguments = fragment.arguments.as_deref().unwrap_or_default();
        let begins = self.begins(slot, fragment);
        let call = &mut self.calls[slot];
        if call.id.is_none() {
            if call.name.is_none() {
                call.name = fragment.name.as_deref().map(str::to_owned);
            }
            if !begins {
                call.held.push_str(arguments);
                return Ok(());
            }
            // Calls begin in the order of their arrival.
            for slot in 0..=slot {
                self.begin(slot, home, sink)?;
            }
        }
        self.arguments(slot, arguments, sink)
    }

    /// Begins a call that has a name, unless it has begun.
    fn begin(&mut self, slot: usize, home: Home<'_>, sink: &mut dyn Sink) -> Result<(), Violation> {
        if self.calls[slot].id.is_some() {
            return Ok(());
        }
        let Some(name) = self.calls[slot].name.take() else {
            return Ok(());
        };
        let (ids, parent) = home;
        let id = self.unique_id(slot, ids);
        let call = &mut self.calls[slot];
        call.id = Some(id.clone());
        let held = std::mem::take(&mut call.held);
        whole(
            sink,
            ToolCallStart {
                tool_call_id: id,
                tool_call_name: name,
                parent_message_id: Some(parent.clone()),
                common: None,
            },
        )?;
        self.arguments(slot, &held, sink)
    }

    /// Emits a delta of the arguments of a call that has begun.
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

    /// Returns the provider's id, or a made one if it is missing or another call of the hop has it.
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

    /// Returns whether no call has begun or will begin.
    pub(super) fn are_none(&self) -> bool {
        self.calls
            .iter()
            .all(|call| call.id.is_none() && call.name.is_none())
    }

    /// Returns whether there is any call, with or without a name.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns whether no call was cut off, as far as its arguments tell.
    pub(super) fn are_whole(&self, sink: &dyn Sink) -> bool {
        self.calls.iter().all(|call| match &call.id {
            Some(id) => sink.is_whole(id),
            None => false,
        })
    }

    /// Ends all calls at the end of the hop.
    pub(super) fn end(&mut self, home: Home<'_>, sink: &mut dyn Sink) -> Result<(), Violation> {
        for slot in 0..self.calls.len() {
            self.begin(slot, home, sink)?;
            match &self.calls[slot].id {
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
