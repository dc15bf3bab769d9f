//! Recorded streams in Ollama's own format. No difference from the official SDK is known.

use crate::oracle::{Recording, any_place_will_do_for_a_snapshot};
use crate::recordings::assert_all_decode;

fn recordings() -> Option<Vec<Recording>> {
    let recordings = crate::oracle::recordings("ollama-chat")?;
    assert!(recordings.len() >= 7, "only {}", recordings.len());
    Some(recordings)
}

#[test]
fn recorded_streams_decode_as_the_official_sdk_decodes_them() {
    if let Some(recordings) = recordings() {
        assert_all_decode(&recordings);
    }
}

#[test]
fn i04_a_snapshot_anywhere_in_a_recorded_stream_changes_nothing() {
    if let Some(recordings) = recordings() {
        any_place_will_do_for_a_snapshot(&recordings);
    }
}
