//! The arguments of a hop's calls, parsed while they stream.

use super::queue::{Place, Queue};
use crate::event::{Event, REPLACED};
use crate::run::protocol::{PartialArgumentsUpdate, RunEvent};
use crate::tool::{Change, OwnedChange, PartialArguments, PartialState, ToolRegistry};
use crate::transcript::{LiveCall, Transcript};
use crate::{CallKey, ToolCallId};
use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A reader for each call. Stored is only how far each has come: the text is the conversation's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartialCalls {
    calls: Vec<PartialCall>,
    #[serde(skip)]
    places: HashMap<ToolCallId, usize, RandomState>,
    #[serde(skip)]
    tools: ToolRegistry,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PartialCall {
    key: CallKey,
    id: ToolCallId,
    /// The length of the call's arguments that was read, in bytes.
    read: usize,
    /// The agent reported that the arguments are complete.
    ended: bool,
    #[serde(skip)]
    arguments: PartialArguments,
    /// The update that what follows may be merged with.
    #[serde(skip)]
    waiting: Option<Place>,
}

impl PartialCalls {
    /// Reads again what was read before the run was stored.
    pub(crate) fn read_again(&mut self, tools: &ToolRegistry, transcript: &Transcript) {
        self.tools = tools.clone();
        self.calls.retain_mut(|call| {
            let live = transcript.call(call.key);
            let text = live.and_then(|live| text_of(transcript, live));
            live.zip(text).is_some_and(|(live, text)| {
                call.arguments = of_call(tools, live);
                call.read_again(text);
                true
            })
        });
        let places = self.calls.iter().enumerate();
        self.places = places.map(|(at, call)| (call.id.clone(), at)).collect();
    }

    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.places.clear();
    }

    pub(crate) fn get(&self, id: &str) -> Option<&PartialArguments> {
        let call = self.calls.get(*self.places.get(id)?)?;
        Some(&call.arguments)
    }

    /// Reads a delta of a call's arguments, which comes after `from` bytes.
    pub(crate) fn delta(
        &mut self,
        id: &str,
        from: usize,
        delta: &str,
        transcript: &Transcript,
        queue: &mut Queue,
    ) {
        match self.places.get(id).map(|&place| &mut self.calls[place]) {
            Some(call) if call.read == from && !call.ended => call.read(delta, queue),
            _ => self.follow_live(id, transcript, queue),
        }
    }

    /// Handles an event that may begin a call, or rewrite its arguments.
    pub(crate) fn event(&mut self, event: &Event, transcript: &Transcript, queue: &mut Queue) {
        match event {
            Event::ToolCallStart(event) => {
                // A call that begins again after its end continues where it was.
                if let Some(call) = self.call_mut(&event.tool_call_id)
                    && call.ended
                {
                    call.ended = false;
                    let text = call.arguments.text().to_owned();
                    call.read_again(&text);
                }
                self.follow_live(&event.tool_call_id, transcript, queue);
            }
            Event::Custom(event) if event.name == REPLACED => {
                if let Some(id) = event.value["toolCallId"].as_str() {
                    self.follow_live(id, transcript, queue);
                }
            }
            Event::MessagesSnapshot(_) => {
                for live in transcript.calls() {
                    self.follow(live, transcript, queue);
                }
            }
            _ => {}
        }
    }

    /// Ends a call's arguments, which are complete.
    pub(crate) fn end(&mut self, id: &str, queue: &mut Queue) {
        if let Some(call) = self.call_mut(id)
            && !call.ended
        {
            call.end(queue);
        }
    }

    fn call_mut(&mut self, id: &str) -> Option<&mut PartialCall> {
        self.calls.get_mut(*self.places.get(id)?)
    }

    fn follow_live(&mut self, id: &str, transcript: &Transcript, queue: &mut Queue) {
        if let Some(live) = transcript.calls().iter().rev().find(|call| call.id == id) {
            self.follow(live, transcript, queue);
        }
    }

    /// Reads what is new of a call's arguments; from the beginning if they are not those that were read.
    fn follow(&mut self, live: &LiveCall, transcript: &Transcript, queue: &mut Queue) {
        let Some(text) = text_of(transcript, live) else {
            return;
        };
        let place = self.places.get(&live.id).copied().unwrap_or_else(|| {
            self.places.insert(live.id.clone(), self.calls.len());
            self.calls.push(PartialCall::new(&self.tools, live));
            self.calls.len() - 1
        });
        let call = &mut self.calls[place];
        let goes_on = call.key == live.key && text.starts_with(call.arguments.text());
        match text.get(call.read..) {
            Some("") if goes_on => {}
            Some(rest) if goes_on && !call.ended => call.read(rest, queue),
            _ => {
                let ended = call.ended && call.key == live.key;
                *call = PartialCall::new(&self.tools, live);
                call.read(text, queue);
                if ended {
                    call.end(queue);
                }
            }
        }
    }
}

fn of_call(tools: &ToolRegistry, live: &LiveCall) -> PartialArguments {
    PartialArguments::spelled(tools.spelling(&live.name).cloned())
}

fn text_of<'c>(transcript: &'c Transcript, live: &LiveCall) -> Option<&'c str> {
    let call = transcript.tool_call(live)?;
    Some(&call.function.arguments)
}

impl PartialCall {
    fn new(tools: &ToolRegistry, live: &LiveCall) -> Self {
        Self {
            key: live.key,
            id: live.id.clone(),
            read: 0,
            ended: false,
            arguments: of_call(tools, live),
            waiting: None,
        }
    }

    fn read_again(&mut self, text: &str) {
        self.arguments.restart();
        self.arguments.push(text.get(..self.read).unwrap_or(text));
        if self.ended {
            self.arguments.finish();
        }
    }

    fn read(&mut self, text: &str, queue: &mut Queue) {
        self.read += text.len();
        self.tell(queue, |arguments, changes| {
            arguments.push_with(text, |change| add(changes, change));
        });
    }

    fn end(&mut self, queue: &mut Queue) {
        self.ended = true;
        self.tell(queue, |arguments, changes| {
            arguments.finish_with(|change| add(changes, change));
        });
    }

    /// Queues what `read` has to say, in the update that waits if there is one.
    fn tell(
        &mut self,
        queue: &mut Queue,
        read: impl FnOnce(&mut PartialArguments, &mut Vec<OwnedChange>),
    ) {
        if let PartialState::Invalid(_) = self.arguments.state() {
            return;
        }
        if let Some(update) = self.waiting.and_then(|place| open_update(queue, place)) {
            read(&mut self.arguments, &mut update.changes);
            update.stopped = stopped(&self.arguments);
            return;
        }
        let mut changes = Vec::new();
        read(&mut self.arguments, &mut changes);
        let stopped = stopped(&self.arguments);
        if changes.is_empty() && stopped.is_none() {
            return;
        }
        let update = PartialArgumentsUpdate {
            call: self.key,
            tool_call_id: self.id.clone(),
            changes,
            stopped,
        };
        self.waiting = Some(queue.push_open(RunEvent::PartialArguments(update)));
    }
}

/// The update at this place, if it may still be added to.
fn open_update(queue: &mut Queue, place: Place) -> Option<&mut PartialArgumentsUpdate> {
    match queue.open_event(place)? {
        RunEvent::PartialArguments(update) => Some(update),
        _ => None,
    }
}

pub(super) fn stopped(arguments: &PartialArguments) -> Option<String> {
    match arguments.state() {
        PartialState::Invalid(invalid) => Some(invalid.to_string()),
        PartialState::Open | PartialState::Complete => None,
    }
}

/// Adds a change. Consecutive changes that extend one string become one change.
pub(super) fn add(changes: &mut Vec<OwnedChange>, change: Change<'_>) {
    if let Change::Append { path, text } = change
        && let Some(OwnedChange::Append {
            path: last,
            text: grown,
        }) = changes.last_mut()
        && last == path
    {
        grown.push_str(text);
        return;
    }
    changes.push(change.into());
}
