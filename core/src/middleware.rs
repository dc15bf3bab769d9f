//! Functions on the events of an AG-UI stream: to filter, change or log them before the run sees them.
//!
//! They stand where AG-UI has its middleware: after what old agents send was put into the words of 1.0, before anything is
//! judged, expanded or built of the events.
//!
//! # Why they are outside of the run
//!
//! A run is data: it is stored, restored and replayed, and functions are none. So a [`Middleware`] turns the bytes of a
//! body into other bytes of the same encoding, and what the run receives, journals and stores is what the functions made
//! of the stream. A journal replays without them, a snapshot holds nothing of them, and they need not be deterministic.
//! What a middleware itself holds, half a frame and what its functions remember, lives and dies with the connection, which
//! no stored run survives either. When a stream is resumed after its last event, hand its new body to the same middleware.
//!
//! The host puts it between the response and [`Input::Received`](crate::run::Input::Received); the agent of
//! `stepwell-io` does so by itself.
//!
//! ```
//! use stepwell_core::event::Event;
//! use stepwell_core::middleware::{Middleware, filter_tool_calls, inspect, map};
//!
//! let mut body = Vec::new();
//! let mut middleware = Middleware::new()
//!     .then(filter_tool_calls(|name| name != "delete_everything"))
//!     .then(map(|mut event| {
//!         if let Event::TextMessageContent(content) = &mut event {
//!             content.delta = content.delta.replace("secret", "******");
//!         }
//!         Some(event)
//!     }))
//!     .then(inspect(|event| println!("{}", event.kind())));
//! middleware.open(Some("text/event-stream"));
//! middleware.receive(
//!     b"data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"a secret\"}\n\n",
//!     &mut body,
//! );
//! assert_eq!(
//!     String::from_utf8(body)?,
//!     "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"a ******\"}\n\n"
//! );
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```

use crate::ToolCallId;
use crate::dialect::{Boundary, Dialect};
use crate::event::protobuf::{self, Envelope};
use crate::event::{Event, RunOutcome};
use crate::wire::{Frame, FrameLimits, Framer, WireError};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// What becomes of an event: itself, changed or not, several, or nothing.
type Step = Box<dyn FnMut(Event) -> Vec<Event> + Send>;

/// Functions on the events of one hop's stream, in the order in which they were added.
pub struct Middleware {
    steps: Vec<Step>,
    boundary: Boundary,
    framer: Framer,
    framing: Framing,
    is_broken: bool,
    last_id: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    Sse,
    JsonLines,
    Protobuf,
}

impl Framing {
    fn of(framer: &Framer) -> Self {
        match framer {
            Framer::Sse(_) => Self::Sse,
            Framer::JsonLines(_) => Self::JsonLines,
            Framer::LengthPrefixed(_) => Self::Protobuf,
        }
    }
}

impl fmt::Debug for Middleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Middleware")
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

impl Default for Middleware {
    fn default() -> Self {
        Self::new()
    }
}

impl Middleware {
    /// A middleware that changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            steps: Vec::new(),
            boundary: Boundary::default(),
            framer: Dialect::AgUi.framer(FrameLimits::default()),
            framing: Framing::Sse,
            is_broken: false,
            last_id: Vec::new(),
        }
    }

    /// Adds a function: it is given each event, and gives what comes in its place. It sees chunks as they are sent, and
    /// events of newer versions as [`Event::Unknown`].
    #[must_use]
    pub fn then(mut self, step: impl FnMut(Event) -> Vec<Event> + Send + 'static) -> Self {
        self.steps.push(Box::new(step));
        self
    }

    /// A body begins: the hop's first, or one that goes on where the one before broke off.
    pub fn open(&mut self, content_type: Option<&str>) {
        let media_type = content_type.unwrap_or_default().split(';').next();
        let media_type = media_type.unwrap_or_default().trim().to_ascii_lowercase();
        self.framer = Dialect::AgUi.framer_of(&media_type, FrameLimits::default());
        self.framing = Framing::of(&self.framer);
        // What is no stream is for the run to say.
        self.is_broken = matches!(media_type.as_str(), "text/html" | "application/json");
        self.last_id.clear();
    }

    /// Takes bytes of the body, and puts what becomes of them behind `out`. That may be nothing; the run is to be given
    /// it all the same, since it counts as a sign of life.
    ///
    /// What is no event goes on as it came, for the run to refuse, and everything after it too.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.is_broken {
            out.extend_from_slice(bytes);
            return;
        }
        let retry = self.framer.retry();
        let mut framer = self.take_framer();
        let received = framer.receive(bytes, |frame| {
            self.frame(frame, out);
            Ok::<(), WireError>(())
        });
        self.framer = framer;
        if received.is_err() {
            // Too large: the run meets the same limit.
            self.is_broken = true;
            out.extend_from_slice(bytes);
        }
        if let Some(wait) = self.framer.retry().filter(|wait| Some(*wait) != retry) {
            out.extend_from_slice(format!("retry: {}\n\n", wait.as_millis()).as_bytes());
        }
    }

    /// The body has ended: puts what becomes of an unfinished frame behind `out`.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if self.is_broken {
            return;
        }
        let is_cut = self.framer.is_cut();
        let mut framer = self.take_framer();
        let _ = framer.finish(|frame| {
            self.frame(frame, out);
            Ok::<(), WireError>(())
        });
        self.framer = framer;
        if is_cut {
            // The run is to see that the body ended within a frame: a length, and nothing of so many bytes.
            out.extend_from_slice(&[0, 0, 0, 1]);
        }
    }

    /// The framer, which is put back once its frames are handled.
    fn take_framer(&mut self) -> Framer {
        std::mem::replace(&mut self.framer, Framer::JsonLines(Default::default()))
    }

    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) {
        let events = if frame.is_stray {
            None
        } else if self.framing == Framing::Protobuf {
            self.envelope(frame.data)
        } else {
            match serde_json::from_slice(frame.data) {
                Ok(Value::Object(object)) => self.pass(object),
                Ok(Value::Array(batch)) => self.batch(batch),
                _ => None,
            }
        };
        match events {
            None => self.put(frame, frame.data, out),
            Some(events) if self.framing == Framing::Protobuf => {
                for event in &events {
                    // What protobuf has no place for came from a function, and goes nowhere.
                    if let Err(error) = protobuf::encode_frame(event.into(), out) {
                        tracing::warn!(target: "stepwell", %error, "an event of a middleware was dropped");
                    }
                }
            }
            Some(events) => {
                // The id is of the last of them: a stream resumed after it goes on with the next frame.
                let last = events.len().saturating_sub(1);
                for (index, event) in events.iter().enumerate() {
                    let data = serde_json::to_vec(event).unwrap_or_default();
                    let of_frame = if index == last {
                        frame
                    } else {
                        Frame { id: &[], ..frame }
                    };
                    self.put(of_frame, &data, out);
                }
                if events.is_empty() {
                    self.put(frame, &[], out);
                }
            }
        }
    }

    fn envelope(&mut self, data: &[u8]) -> Option<Vec<Event>> {
        match protobuf::read(data) {
            Ok(Envelope::Known { event, .. }) => self.pass(event),
            _ => None,
        }
    }

    /// What the functions make of an event; nothing if they leave it as it came.
    fn pass(&mut self, object: Map<String, Value>) -> Option<Vec<Event>> {
        let (event, is_translated) = self.boundary.read(object)?;
        let mut events = vec![event.clone()];
        for step in &mut self.steps {
            events = events.into_iter().flat_map(step).collect();
        }
        let is_same = !is_translated && events.len() == 1 && events[0] == event;
        (!is_same).then_some(events)
    }

    fn batch(&mut self, batch: Vec<Value>) -> Option<Vec<Event>> {
        let (mut events, mut is_same) = (Vec::new(), true);
        for value in batch {
            let Value::Object(object) = value else {
                return None;
            };
            match self.pass(object.clone()) {
                Some(changed) => {
                    is_same = false;
                    events.extend(changed);
                }
                None => events.push(Event::from_object(object).ok()?),
            }
        }
        (!is_same).then_some(events)
    }

    /// Puts a frame with this data behind `out`, in the framing of the body.
    fn put(&mut self, frame: Frame<'_>, data: &[u8], out: &mut Vec<u8>) {
        match self.framing {
            Framing::Protobuf => {
                // A frame that came has a length.
                let length = u32::try_from(data.len()).unwrap_or_default();
                out.extend_from_slice(&length.to_be_bytes());
                out.extend_from_slice(data);
            }
            Framing::JsonLines if data.is_empty() => {}
            Framing::JsonLines => {
                out.extend_from_slice(data);
                out.push(b'\n');
            }
            Framing::Sse if frame.is_stray => {
                out.extend_from_slice(data);
                out.extend_from_slice(b"\n\n");
            }
            Framing::Sse => {
                let has_id = !frame.id.is_empty() && frame.id != self.last_id.as_slice();
                if has_id {
                    self.last_id.clear();
                    self.last_id.extend_from_slice(frame.id);
                    line(b"id", frame.id, out);
                }
                if !data.is_empty() {
                    if !frame.event.is_empty() {
                        line(b"event", frame.event, out);
                    }
                    for data in data.split(|byte| *byte == b'\n') {
                        line(b"data", data, out);
                    }
                }
                if has_id || !data.is_empty() {
                    out.push(b'\n');
                }
            }
        }
    }
}

fn line(field: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(field);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// A function for [`Middleware::then`] that changes each event, or drops it.
pub fn map(
    mut change: impl FnMut(Event) -> Option<Event> + Send + 'static,
) -> impl FnMut(Event) -> Vec<Event> + Send + 'static {
    move |event| change(event).into_iter().collect()
}

/// A function for [`Middleware::then`] that looks at each event, to log it, say. Events hold what was said: mind where it
/// goes.
pub fn inspect(
    mut look: impl FnMut(&Event) + Send + 'static,
) -> impl FnMut(Event) -> Vec<Event> + Send + 'static {
    move |event| {
        look(&event);
        vec![event]
    }
}

/// A function for [`Middleware::then`] that drops the tool calls whose tool `allows` says no to, with all that belongs to
/// them: their arguments, results, and their places in `pendingToolCallIds` and in snapshots.
pub fn filter_tool_calls(
    mut allows: impl FnMut(&str) -> bool + Send + 'static,
) -> impl FnMut(Event) -> Vec<Event> + Send + 'static {
    let mut dropped: BTreeSet<ToolCallId> = BTreeSet::new();
    // Which agents' chunks go on with a call that is dropped.
    let mut lanes: BTreeSet<Option<String>> = BTreeSet::new();
    move |mut event| {
        let lane = event
            .common()
            .and_then(|common| common.subagent_run_id.clone());
        let is_kept = match &mut event {
            Event::RunStarted(_) => {
                dropped.clear();
                lanes.clear();
                true
            }
            Event::ToolCallStart(start) => {
                let is_allowed = allows(&start.tool_call_name);
                if is_allowed {
                    dropped.remove(&start.tool_call_id);
                } else {
                    dropped.insert(start.tool_call_id.clone());
                }
                is_allowed
            }
            Event::ToolCallArgs(args) => !dropped.contains(&args.tool_call_id),
            Event::ToolCallEnd(end) => !dropped.contains(&end.tool_call_id),
            Event::ToolCallResult(result) => !dropped.contains(&result.tool_call_id),
            Event::ToolCallChunk(chunk) => {
                let is_allowed = match (&chunk.tool_call_id, &chunk.tool_call_name) {
                    (Some(id), Some(name)) => {
                        let is_allowed = allows(name);
                        if !is_allowed {
                            dropped.insert(id.clone());
                        }
                        is_allowed
                    }
                    (Some(id), None) => !dropped.contains(id),
                    (None, _) => !lanes.contains(&lane),
                };
                if is_allowed {
                    lanes.remove(&lane);
                } else {
                    lanes.insert(lane);
                }
                is_allowed
            }
            Event::RunFinished(finish) => {
                if let Some(RunOutcome::Success {
                    pending_tool_call_ids: Some(ids),
                }) = &mut finish.outcome
                {
                    ids.retain(|id| !dropped.contains(id));
                }
                true
            }
            Event::MessagesSnapshot(snapshot) => {
                snapshot_without(snapshot, &mut allows, &mut dropped);
                true
            }
            _ => true,
        };
        if is_kept { vec![event] } else { Vec::new() }
    }
}

fn snapshot_without(
    snapshot: &mut crate::event::MessagesSnapshot,
    allows: &mut impl FnMut(&str) -> bool,
    dropped: &mut BTreeSet<ToolCallId>,
) {
    use crate::event::Message;
    for message in &mut snapshot.messages {
        if let Message::Assistant(message) = message {
            message.tool_calls.retain(|call| {
                let is_allowed = allows(&call.function.name);
                if !is_allowed {
                    dropped.insert(call.id.clone());
                }
                is_allowed
            });
        }
    }
    snapshot.messages.retain(|message| match message {
        Message::Tool(message) => !dropped.contains(&message.tool_call_id),
        _ => true,
    });
}
