//! I3: where a body is cut changes nothing. I4: neither does a snapshot, taken anywhere.

use super::support::{Seen, cut, limits, mad_body, places, read, receive, sse};
use crate::cases::cases;
use proptest::prelude::*;
use stepwell_core::wire::{
    EventStreamFramer, Framer, JsonLinesFramer, LengthPrefixedFramer, SseFramer,
};

/// Framers of all kinds, without limits that matter and with limits that random bodies pass.
fn framer() -> impl Strategy<Value = Framer> {
    let limits = prop_oneof![
        Just(limits(1 << 20, 1 << 20)),
        (0..24_usize, 0..24_usize).prop_map(|(line, event)| limits(line, event)),
    ];
    (limits, 0..4).prop_map(|(limits, kind)| match kind {
        0 => SseFramer::new(limits).into(),
        1 => JsonLinesFramer::new(limits).into(),
        2 => LengthPrefixedFramer::new(limits).into(),
        _ => EventStreamFramer::new(limits).into(),
    })
}

fn restored(framer: &Framer) -> Framer {
    let snapshot = serde_json::to_string(framer).unwrap();
    serde_json::from_str(&snapshot).unwrap()
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn i03_every_cut_gives_the_same(framer in framer(), body in mad_body(), places in places()) {
        let open = receive(framer.clone(), [&body[..]]);
        let ended = read(framer.clone(), [&body[..]]);
        let pieces = cut(&body, &places);
        prop_assert_eq!(&receive(framer.clone(), pieces.iter().copied()), &open);
        prop_assert_eq!(&read(framer.clone(), pieces), &ended);
        prop_assert_eq!(&receive(framer.clone(), body.chunks(1)), &open, "single bytes");
        prop_assert_eq!(&read(framer.clone(), body.chunks(1)), &ended, "single bytes");
        for at in 0..=body.len() {
            let (left, right) = body.split_at(at);
            prop_assert_eq!(&receive(framer.clone(), [left, right]), &open, "cut at {}", at);
            prop_assert_eq!(&read(framer.clone(), [left, &[], right]), &ended, "cut at {}", at);
        }
    }

    #[test]
    fn i04_a_snapshot_at_every_byte_changes_nothing(framer in framer(), body in mad_body()) {
        let ended = read(framer.clone(), [&body[..]]);
        let mut each = Seen::new(restored(&framer));
        for byte in body.chunks(1) {
            each.receive(byte);
            each.framer = restored(&each.framer);
        }
        each.finish();
        prop_assert_eq!(&each, &ended);
        for at in 0..=body.len() {
            let (left, right) = body.split_at(at);
            let mut once = receive(framer.clone(), [left]);
            once.framer = restored(&once.framer);
            once.receive(right);
            once.finish();
            prop_assert_eq!(&once, &ended, "snapshot at {}", at);
        }
    }
}

#[test]
fn i04_a_snapshot_is_readable() {
    let seen = receive(
        sse(),
        [&b"id: 6\n\nid: 7\n\nevent: a\ndata: \xC3\xA9\ndata: \xC3"[..]],
    );
    let snapshot = serde_json::to_value(&seen.framer).unwrap();
    assert_eq!(
        snapshot,
        serde_json::json!({"sse": {
            "limits": {"line": 67_108_864, "event": 67_108_864},
            "start": "passed",
            "after_cr": false,
            "line": "data: \u{10FFC3}",
            "event": "a",
            "data": "é",
            "has_data": true,
            "next_id": "",
            "has_next_id": false,
            "id": "7",
            "retry": null,
            "error": null,
        }})
    );
}
