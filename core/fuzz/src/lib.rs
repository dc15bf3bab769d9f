//! The properties of any bytes at all: no panic, the same result for every way of cutting them (I3) and over a snapshot
//! (I4), and no more memory than the bytes account for.

use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::protobuf;
use stepwell_core::pipeline::{Pipeline, StreamEnd, StreamError};
use stepwell_core::transcript::Transcript;
use stepwell_core::wire::{
    EventStreamFramer, Frame, FrameLimits, Framer, JsonLinesFramer, LengthPrefixedFramer,
    SseFramer, WireError,
};

/// Small, so that the caps are met.
const LIMITS: FrameLimits = FrameLimits {
    line: 4 << 10,
    event: 8 << 10,
};

/// A body as one dialect's stream.
pub fn stream(dialect: Dialect, body: &[u8]) {
    stream_of(dialect, "text/event-stream", body);
}

/// A body as an AG-UI agent's stream in protobuf.
pub fn protobuf(body: &[u8]) {
    stream_of(Dialect::AgUi, protobuf::MEDIA_TYPE, body);
    // Any event that can be read can be written, and is then the same.
    if let Ok(event) = protobuf::decode(body) {
        let written = protobuf::encode((&event).into()).expect("a known event can be written");
        assert_eq!(protobuf::decode(&written).as_ref(), Ok(&event));
    }
}

fn stream_of(dialect: Dialect, media_type: &str, body: &[u8]) {
    let read = |parts: &[&[u8]], snapshots| read(dialect, media_type, parts, snapshots);
    let whole = read(&[body], false);
    let at = places(body);
    let parts = [&body[..at[0]], &body[at[0]..at[1]], &body[at[1]..]];
    assert_eq!(whole, read(&parts, false), "cut at {at:?}");
    assert_eq!(whole, read(&parts, true), "with snapshots at {at:?}");
    if body.len() <= 512 {
        let bytes: Vec<_> = body.chunks(1).collect();
        assert_eq!(whole, read(&bytes, false), "byte by byte");
    }
    let held = serde_json::to_vec(&whole.transcript).map_or(0, |held| held.len());
    // A generated id, and the data around an item, occur at most once for each frame.
    assert!(
        held <= 4096 + 400 * body.len(),
        "{held} bytes held of {}",
        body.len()
    );
}

#[derive(Debug, PartialEq)]
struct Seen {
    transcript: Transcript,
    ended: Result<StreamEnd, StreamError>,
}

fn read(dialect: Dialect, media_type: &str, parts: &[&[u8]], snapshots: bool) -> Seen {
    let ids = HopIds {
        thread_id: "thread".into(),
        run_id: "run".into(),
        provider: "provider".to_owned(),
    };
    let mut pipeline = Pipeline::of_media_type(dialect, media_type, ids, LIMITS);
    let mut transcript = Transcript::default();
    let mut received = Ok(());
    for part in parts {
        if received.is_ok() {
            received = pipeline.receive(part, &mut transcript, &mut ());
        }
        if snapshots {
            pipeline = again(&pipeline);
            transcript = again(&transcript);
        }
    }
    let ended = received.and_then(|()| pipeline.end(&mut transcript, &mut ()));
    Seen { transcript, ended }
}

/// Returns the value read from its snapshot.
fn again<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("a snapshot can be written");
    serde_json::from_str(&text).expect("a snapshot can be read")
}

/// A body as frames.
pub fn frames(body: &[u8]) {
    for framer in [
        Framer::Sse(SseFramer::new(LIMITS)),
        Framer::JsonLines(JsonLinesFramer::new(LIMITS)),
        Framer::LengthPrefixed(LengthPrefixedFramer::new(LIMITS)),
        Framer::EventStream(EventStreamFramer::new(LIMITS)),
    ] {
        let whole = framed(framer.clone(), &[body]);
        let at = places(body);
        let parts = [&body[..at[0]], &body[at[0]..at[1]], &body[at[1]..]];
        assert_eq!(whole, framed(framer.clone(), &parts), "cut at {at:?}");
        let bytes: Vec<_> = body.chunks(1).collect();
        assert_eq!(whole, framed(framer, &bytes), "byte by byte");
    }
}

type Framed = (Vec<[Vec<u8>; 3]>, Result<(), WireError>);

fn framed(mut framer: Framer, parts: &[&[u8]]) -> Framed {
    let mut seen = Vec::new();
    let mut take = |frame: Frame<'_>| {
        seen.push([frame.event.to_vec(), frame.data.to_vec(), frame.id.to_vec()]);
        Ok(())
    };
    let mut result = Ok(());
    for part in parts {
        if result.is_ok() {
            result = framer.receive(part, &mut take);
        }
    }
    if result.is_ok() {
        result = framer.finish(&mut take);
    }
    (seen, result)
}

/// Two places to cut at, in order, which any change of the body moves.
fn places(body: &[u8]) -> [usize; 2] {
    let hash = body.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let of = |bits: u64| (bits % (body.len() as u64 + 1)) as usize;
    let (one, other) = (of(hash >> 32), of(hash & 0xffff_ffff));
    [one.min(other), one.max(other)]
}
