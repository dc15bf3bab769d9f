//! The events of a run, as its client receives them: the part of its turn's log that is the run.

use super::follow::{Follow, Followed, Head};
use super::turn_frames::adapted;
use crate::ui_message::UiMessageEncoder;
use crate::wire::{Encoding, Entry};
use bytes::Bytes;
use futures::{Stream, stream};
use std::collections::VecDeque;
use std::time::Duration;
use stepwell_core::dialect::ClientVersion;
use stepwell_core::event::Event;
use stepwell_io::RunId;

/// The bytes of frames that go to the connection at once; the last event may exceed them.
const AT_ONCE: usize = 16 << 10;

/// A stream of a run's events. The run continues for a while when the stream is dropped.
#[derive(Debug)]
pub struct RunStream {
    source: Source,
    run: RunId,
    version: ClientVersion,
    /// The events before those of the log: the run's state.
    prelude: VecDeque<Event>,
    /// The number of the last event of the log that the prelude covers.
    covers: u64,
    /// Whether the stream includes events for followers of turns.
    is_whole: bool,
}

#[derive(Debug)]
enum Source {
    /// The log of its turn.
    Log(Box<Follow>),
    /// The run is not stored, and these are all its events.
    Told(VecDeque<Event>, u64),
}

/// The next item for a client.
enum Heard {
    Event(u64, String),
    /// A part of the prelude, at which the client cannot resume.
    Prelude(u64, String),
    Notice(Event),
    Silence,
}

impl RunStream {
    pub(crate) fn new(follow: Follow, run: RunId, version: ClientVersion) -> Self {
        Self {
            source: Source::Log(Box::new(follow)),
            run,
            version,
            prelude: VecDeque::new(),
            covers: 0,
            is_whole: false,
        }
    }

    /// Creates a run of these events, which is not stored.
    pub(crate) fn told(events: Vec<Event>, run: RunId, version: ClientVersion) -> Self {
        Self {
            source: Source::Told(events.into(), 0),
            run,
            version,
            prelude: VecDeque::new(),
            covers: 0,
            is_whole: false,
        }
    }

    /// Prepends the run's state after the event `covers`.
    pub(crate) fn with_prelude(self, prelude: Vec<Event>, covers: u64) -> Self {
        Self {
            prelude: prelude.into(),
            covers,
            ..self
        }
    }

    /// Sets after how long a silence a comment is sent.
    #[must_use]
    pub fn keep_alive(mut self, keep_alive: Duration) -> Self {
        if let Source::Log(follow) = &mut self.source {
            follow.set_keep_alive(keep_alive);
        }
        self
    }

    /// The run's id.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.run
    }

    /// Returns the next event; nothing once the run is over and all is read. Can be dropped and asked again: nothing is lost.
    pub async fn next(&mut self) -> Option<Entry> {
        loop {
            match self.hear().await? {
                Heard::Event(index, json) | Heard::Prelude(index, json) => {
                    let json = json.into_bytes();
                    return Some(Entry { index, json });
                }
                Heard::Notice(_) | Heard::Silence => {}
            }
        }
    }

    async fn hear(&mut self) -> Option<Heard> {
        loop {
            if let Some(event) = self.prelude.pop_front() {
                match self.own(&event, self.covers) {
                    // Only the last event has an id: a client that has it has the complete prelude.
                    Some(Heard::Event(index, json)) if !self.prelude.is_empty() => {
                        return Some(Heard::Prelude(index, json));
                    }
                    None => continue,
                    heard => return heard,
                }
            }
            let follow = match &mut self.source {
                Source::Log(follow) => follow,
                Source::Told(events, told) => {
                    let event = events.pop_front()?;
                    let index = *told;
                    *told += 1;
                    if let Some(heard) = self.own(&event, index) {
                        return Some(heard);
                    }
                    continue;
                }
            };
            match follow.next().await? {
                Followed::Event(event) => {
                    if let Some(json) = shown(&event.data, self.version, self.is_whole) {
                        return Some(Heard::Event(event.index, json));
                    }
                }
                Followed::Notice(event) => return Some(Heard::Notice(event)),
                Followed::Silence => return Some(Heard::Silence),
            }
        }
    }

    /// An event that is not of the log.
    fn own(&self, event: &Event, index: u64) -> Option<Heard> {
        let event = self.version.adapt(event)?;
        let json = serde_json::to_string(&event).ok()?;
        Some(Heard::Event(index, json))
    }

    /// Returns the next item that was read already.
    async fn heard(&mut self) -> Option<Heard> {
        if !self.prelude.is_empty() || matches!(self.source, Source::Told(..)) {
            return self.hear().await;
        }
        let Source::Log(follow) = &mut self.source else {
            return None;
        };
        loop {
            let event = follow.next_read().await?;
            if let Some(json) = shown(&event.data, self.version, self.is_whole) {
                return Some(Heard::Event(event.index, json));
            }
        }
    }

    /// Returns the frames of an HTTP body. After a silence comes a comment, where the encoding has one.
    pub fn frames(self, encoding: Encoding) -> impl Stream<Item = Bytes> + Send + 'static {
        stream::unfold(self, move |mut stream| async move {
            let frames = loop {
                match stream.hear().await? {
                    Heard::Event(index, json) => {
                        break stream.chunk(encoding, index, &json).await;
                    }
                    Heard::Prelude(_, json) => break encoding.without_id(&json),
                    Heard::Notice(event) => break encoding.notice(&event),
                    Heard::Silence => {
                        if let Some(comment) = encoding.keep_alive() {
                            break comment;
                        }
                    }
                }
            };
            Some((frames, stream))
        })
    }

    /// An event, and those that are there too.
    async fn chunk(&mut self, encoding: Encoding, index: u64, json: &str) -> Bytes {
        let mut frames = Vec::with_capacity(json.len() + 64);
        encoding.write(&self.run, index, json.as_bytes(), &mut frames);
        while frames.len() < AT_ONCE
            && let Some(Heard::Event(index, json)) = self.heard().await
        {
            encoding.write(&self.run, index, json.as_bytes(), &mut frames);
        }
        frames.into()
    }

    /// Returns the frames of a chat's UI message stream, without the first `skip` parts. One that was read to its end is
    /// noted as read.
    pub fn chat_frames(
        self,
        encoder: UiMessageEncoder,
        skip: usize,
    ) -> impl Stream<Item = Bytes> + Send + 'static {
        let stream = Self {
            is_whole: true,
            ..self
        };
        let chat = Chat {
            stream,
            encoder,
            skip,
            last: None,
        };
        stream::unfold(chat, |mut chat| async move {
            let frames = chat.next().await?;
            Some((frames, chat))
        })
    }
}

/// The stream of a chat.
struct Chat {
    stream: RunStream,
    encoder: UiMessageEncoder,
    /// The number of parts that are left out.
    skip: usize,
    /// The last event that was sent.
    last: Option<u64>,
}

impl Chat {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let mut frames = Vec::new();
            let Some(heard) = self.stream.hear().await else {
                self.acknowledge().await;
                return None;
            };
            match heard {
                Heard::Event(index, json) | Heard::Prelude(index, json) => {
                    self.encode(index, &json, &mut frames);
                    while frames.len() < AT_ONCE
                        && let Some(Heard::Event(index, json)) = self.stream.heard().await
                    {
                        self.encode(index, &json, &mut frames);
                    }
                }
                Heard::Notice(event) => self.encode_event(&event, &mut frames),
                Heard::Silence => return Encoding::UiMessages.keep_alive(),
            }
            if !frames.is_empty() {
                return Some(frames.into());
            }
        }
    }

    fn encode(&mut self, index: u64, json: &str, frames: &mut Vec<u8>) {
        self.last = Some(index);
        match serde_json::from_str::<Event>(json) {
            Ok(event) => self.encode_event(&event, frames),
            Err(error) => {
                tracing::error!(target: "stepwell", index, %error, "an event of the log cannot be read, and is passed over");
            }
        }
    }

    fn encode_event(&mut self, event: &Event, frames: &mut Vec<u8>) {
        let begin = frames.len();
        if let Err(error) = self.encoder.encode(event, frames) {
            tracing::error!(target: "stepwell", %error, kind = event.kind(), "an event cannot be written");
        }
        while self.skip > 0 && frames.len() > begin {
            let part = frames[begin..].windows(2).position(|pair| pair == b"\n\n");
            let end = part.map_or(frames.len(), |end| begin + end + 2);
            frames.drain(begin..end);
            self.skip -= 1;
        }
    }

    /// Records that the client has the end: the answer need not be sent again.
    async fn acknowledge(&self) {
        if let (Source::Log(follow), Some(last)) = (&self.stream.source, self.last)
            && let Err(error) = follow.store().acknowledge(follow.key(), last).await
        {
            tracing::debug!(target: "stepwell", %error, "it is not noted that a chat's answer was read");
        }
    }
}

/// Returns an event as the client of a run receives it, if the client does.
fn shown(json: &str, version: ClientVersion, is_whole: bool) -> Option<String> {
    match !is_whole && Head::of(json).is_of_turn() {
        true => None,
        false => adapted(json, version).map(std::borrow::Cow::into_owned),
    }
}
