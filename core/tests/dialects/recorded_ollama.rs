//! What real servers sent in Ollama's own format, against what the official SDK makes of it. No difference is known.

use crate::recordings::{assert_all_decode, assert_snapshots_change_nothing, recordings};
use stepwell_core::dialect::Dialect;

#[test]
fn recorded_streams_decode_as_the_official_sdk_decodes_them() {
    let Some(recordings) = recordings("ollama-chat") else {
        return;
    };
    assert!(recordings.len() >= 7, "only {}", recordings.len());
    assert_all_decode(Dialect::Ollama, &recordings);
}

#[test]
fn i04_a_snapshot_anywhere_in_a_recorded_stream_changes_nothing() {
    let Some(recordings) = recordings("ollama-chat") else {
        return;
    };
    assert_snapshots_change_nothing(Dialect::Ollama, recordings);
}
