//! Recorded streams of Cohere's chat.

use crate::chat::Stream;
use crate::oracle::{Recording, Wrong};
use stepwell_core::dialect::Dialect;

/// Where the official SDK is believed to be wrong.
const WRONG: &[Wrong] = &[];

fn recordings() -> Option<Vec<Recording>> {
    let recordings = crate::oracle::recordings("v2chat")?;
    assert!(recordings.len() >= 10, "only {}", recordings.len());
    Some(recordings)
}

#[test]
fn recorded_streams_decode_as_the_official_sdk_decodes_them() {
    if let Some(recordings) = recordings() {
        crate::oracle::agree_with_the_sdk(&recordings, WRONG);
    }
}

#[test]
fn i03_recorded_streams_may_be_cut_anywhere() {
    if let Some(recordings) = recordings() {
        crate::oracle::any_chunk_size_will_do(&recordings);
    }
}

#[test]
fn i04_a_snapshot_anywhere_in_a_recorded_stream_changes_nothing() {
    if let Some(recordings) = recordings() {
        crate::oracle::any_place_will_do_for_a_snapshot(&recordings);
    }
}

#[test]
fn recorded_streams_read_the_same_without_templates() {
    for Recording { name, body, .. } in recordings().unwrap_or_default() {
        let whole = Stream::new(Dialect::Cohere).run(&body, usize::MAX);
        let mut stream = Stream::new(Dialect::Cohere);
        stream.without_templates = true;
        assert_eq!(stream.run(&body, usize::MAX), whole, "{name}");
    }
}
