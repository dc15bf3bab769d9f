//! What the tests share: owned frames, ways of feeding a framer, random bodies.

use proptest::{prelude::*, sample::Index};
use stepwell_core::wire::{Frame, FrameLimits, Framer, SseFramer, WireError};

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) event: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) id: Vec<u8>,
    pub(crate) is_failure: bool,
}

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            event,
            data,
            id,
            is_failure,
        } = self;
        write!(
            f,
            "({:?}, {:?}, {:?}, {is_failure})",
            event.escape_ascii().to_string(),
            data.escape_ascii().to_string(),
            id.escape_ascii().to_string()
        )
    }
}

impl From<Frame<'_>> for Owned {
    fn from(frame: Frame<'_>) -> Self {
        Self {
            is_failure: frame.is_failure,
            ..owned(frame.event, frame.data, frame.id)
        }
    }
}

pub(crate) fn owned(
    event: impl AsRef<[u8]>,
    data: impl AsRef<[u8]>,
    id: impl AsRef<[u8]>,
) -> Owned {
    Owned {
        event: event.as_ref().to_vec(),
        data: data.as_ref().to_vec(),
        id: id.as_ref().to_vec(),
        is_failure: false,
    }
}

pub(crate) fn sse() -> Framer {
    Framer::Sse(SseFramer::default())
}

pub(crate) fn limits(line: usize, event: usize) -> FrameLimits {
    FrameLimits { line, event }
}

/// All that can be seen of a framer that was fed a body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) frames: Vec<Owned>,
    /// The text from outside the format.
    pub(crate) stray: Vec<Vec<u8>>,
    pub(crate) outcome: Result<(), WireError>,
    pub(crate) framer: Framer,
}

impl Seen {
    pub(crate) fn new(framer: Framer) -> Self {
        Self {
            frames: Vec::new(),
            stray: Vec::new(),
            outcome: Ok(()),
            framer,
        }
    }

    pub(crate) fn receive(&mut self, chunk: &[u8]) {
        let (frames, stray) = (&mut self.frames, &mut self.stray);
        let outcome = self.framer.receive(chunk, |frame| {
            match frame.is_stray {
                true => stray.push(frame.data.to_vec()),
                false => frames.push(frame.into()),
            }
            Ok(())
        });
        self.outcome = self.outcome.clone().and(outcome);
    }

    pub(crate) fn finish(&mut self) {
        let (frames, stray) = (&mut self.frames, &mut self.stray);
        let outcome = self.framer.finish(|frame| {
            match frame.is_stray {
                true => stray.push(frame.data.to_vec()),
                false => frames.push(frame.into()),
            }
            Ok(())
        });
        self.outcome = self.outcome.clone().and(outcome);
    }

    pub(crate) fn last_event_id(&self) -> &[u8] {
        match &self.framer {
            Framer::Sse(framer) => framer.last_event_id(),
            _ => &[],
        }
    }
}

/// Feeds the chunks; leaves the body open.
pub(crate) fn receive<'a>(framer: Framer, chunks: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut seen = Seen::new(framer);
    for chunk in chunks {
        seen.receive(chunk);
    }
    seen
}

/// Feeds the chunks and ends the body.
pub(crate) fn read<'a>(framer: Framer, chunks: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut seen = receive(framer, chunks);
    seen.finish();
    seen
}

/// The frames of a body of server-sent events that is received whole and not ended, checked at every way of
/// cutting it in two and in single bytes.
pub(crate) fn frames(body: impl AsRef<[u8]>) -> Vec<Owned> {
    let body = body.as_ref();
    let whole = receive(sse(), [body]);
    for at in 0..=body.len() {
        let (left, right) = body.split_at(at);
        assert_eq!(receive(sse(), [left, right]), whole, "cut at {at}");
    }
    assert_eq!(receive(sse(), body.chunks(1)), whole, "single bytes");
    assert_eq!(whole.outcome, Ok(()));
    whole.frames
}

/// The body in pieces, cut at the places given.
pub(crate) fn cut<'a>(body: &'a [u8], places: &[Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = places.iter().map(|p| p.index(body.len() + 1)).collect();
    places.sort_unstable();
    places.push(body.len());
    let mut from = 0;
    places
        .into_iter()
        .map(|to| &body[std::mem::replace(&mut from, to)..to])
        .collect()
}

pub(crate) fn places() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 0..12)
}

fn pick(choices: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(choices).prop_map(|text| text.as_bytes().to_vec())
}

const NAMES: &[&str] = &[
    "data",
    "data",
    "data",
    "data",
    "event",
    "event",
    "id",
    "id",
    "retry",
    "dat",
    "datax",
    "DATA",
    "da\u{feff}ta",
    " data",
    "",
    "ids",
    "events",
    "{\"a\"",
    "\u{feff}",
    "\0",
    "é",
];
const COLONS: &[&str] = &[":", ": ", ": ", ":  ", "", " :", "::", ":\t"];
const VALUES: &[&str] = &[
    "",
    "",
    "x",
    "{\"t\":\"é\"}",
    "[DONE]",
    "1",
    "0042",
    "+5",
    "-1",
    "1.5",
    " ",
    "a:b",
    "data: x",
    "\0",
    "a\0b",
    "日本語",
    "👍🏽",
    "\u{feff}",
    "99999999999999999999999",
    "tail  ",
    "\u{10ffff}",
];
const ENDS: &[&str] = &[
    "\n", "\n", "\r\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r", "\n\r", "",
];

/// Bodies of what a line can be made of, in an order no server would choose. Valid UTF-8.
pub(crate) fn mad_text() -> impl Strategy<Value = Vec<u8>> {
    let line = (pick(NAMES), pick(COLONS), pick(VALUES), pick(ENDS))
        .prop_map(|(name, colon, value, end)| [name, colon, value, end].concat());
    (
        pick(&["", "", "\u{feff}", "\u{feff}\u{feff}"]),
        prop::collection::vec(line, 0..12),
    )
        .prop_map(|(mark, lines)| [mark, lines.concat()].concat())
}

/// Bytes of no sense, mostly those that mean something to a framer.
fn mad_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => prop::sample::select(&b"\n\n\r: datevnid0\0\xEF\xBB\xBF{}"[..]),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..48)
}

/// Any body: mad lines, some with bytes changed or a byte order mark cut short, and senseless bytes.
pub(crate) fn mad_body() -> impl Strategy<Value = Vec<u8>> {
    let changed = (mad_text(), any::<Index>(), any::<u8>()).prop_map(|(mut body, place, byte)| {
        if !body.is_empty() {
            let place = place.index(body.len());
            body[place] = byte;
        }
        body
    });
    let half_mark = (pick(NAMES), 1..3_usize, mad_text())
        .prop_map(|(name, length, body)| [&b"\xEF\xBB\xBF"[..length], &name, &body].concat());
    prop_oneof![4 => mad_text(), 2 => changed, 1 => half_mark, 2 => mad_bytes()]
}
