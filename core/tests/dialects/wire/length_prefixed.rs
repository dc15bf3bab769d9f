//! Frames with their length before them.

use super::support::{Owned, limits, owned, read, receive};
use proptest::prelude::*;
use stepwell_core::wire::{Framer, LengthPrefixedFramer, WireError};

fn framer(most: usize) -> Framer {
    LengthPrefixedFramer::new(limits(0, most)).into()
}

fn body<T: AsRef<[u8]>>(frames: &[T]) -> Vec<u8> {
    let framed = frames.iter().flat_map(|frame| {
        let frame = frame.as_ref();
        let length = u32::try_from(frame.len()).unwrap();
        [&length.to_be_bytes()[..], frame].concat()
    });
    framed.collect()
}

fn frames<T: AsRef<[u8]>>(frames: &[T]) -> Vec<Owned> {
    frames.iter().map(|frame| owned("", frame, "")).collect()
}

#[test]
fn each_length_and_so_many_bytes_are_a_frame() {
    let body = body(&["one", "", "\0\0\0\x05three"]);
    let whole = read(framer(9), [&body[..]]);
    assert_eq!(whole.outcome, Ok(()));
    assert_eq!(whole.frames, frames(&["one", "", "\0\0\0\x05three"]));
}

#[test]
fn a_length_beyond_the_limit_is_refused_as_soon_as_it_is_there() {
    let body = [&body(&["1234"])[..], &[0, 0, 1]].concat();
    let open = receive(framer(4), [&body[..]]);
    assert_eq!((open.frames.len(), open.outcome), (1, Ok(())));
    let closed = receive(framer(4), [&body[..], &[0]]);
    let (length, limit) = (256, 4);
    assert_eq!(
        closed.outcome,
        Err(WireError::FrameTooLarge { length, limit })
    );
    assert_eq!(closed.frames, frames(&["1234"]), "what came before counts");
}

#[test]
fn half_a_frame_at_the_end_is_seen() {
    let body = body(&["12345"]);
    for at in 0..=body.len() {
        let seen = receive(framer(9), [&body[..at]]);
        let is_whole = at == 0 || at == body.len();
        assert_eq!(seen.framer.is_cut(), !is_whole, "cut at {at}");
        assert_eq!(seen.framer.is_between_frames(), is_whole, "cut at {at}");
    }
    let mut seen = receive(framer(9), [&body[..6]]);
    seen.framer.restart();
    seen.receive(&body);
    assert_eq!(seen.frames, frames(&["12345"]), "of the next body");
}

#[test]
fn a_refused_frame_stops_the_body() {
    let mut framer = LengthPrefixedFramer::default();
    let refused = framer.receive(&body(&["1", "2"]), |_| Err(WireError::Stopped));
    assert!(refused.is_err());
    let after = framer.receive(&body(&["3"]), |_| Ok(()));
    assert_eq!(after, Err(WireError::Stopped));
}

proptest! {
    #[test]
    fn i03_whole_frames_come_out_as_they_went_in(
        texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
        size in 1..40_usize,
    ) {
        let body = body(&texts);
        let seen = read(framer(300), body.chunks(size));
        prop_assert_eq!(seen.outcome, Ok(()));
        prop_assert_eq!(seen.frames, frames(&texts));
    }

    #[test]
    fn i03_i04_cuts_and_snapshots_change_nothing(
        texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..5),
        rest in prop::collection::vec(any::<u8>(), 0..8),
        most in 8..24_usize,
    ) {
        let body = [body(&texts), rest].concat();
        let whole = read(framer(most), [&body[..]]);
        for at in 0..=body.len() {
            let (left, right) = body.split_at(at);
            let mut seen = receive(framer(most), [left]);
            let snapshot = serde_json::to_string(&seen.framer).unwrap();
            seen.framer = serde_json::from_str(&snapshot).unwrap();
            seen.receive(right);
            seen.finish();
            prop_assert_eq!(&seen, &whole, "cut at {}", at);
        }
        prop_assert_eq!(&read(framer(most), body.chunks(1)), &whole);
    }
}
