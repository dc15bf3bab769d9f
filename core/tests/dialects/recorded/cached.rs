//! What was read from and written to a cache, as the recorded streams state it.

use super::{Recording, recordings};
use serde_json::Value;
use stepwell_core::event::Event;

/// The names that counts of a cache have on the wire: what was read, and what was written.
const READ: [&str; 5] = [
    "cached_tokens",
    "cache_read_input_tokens",
    "prompt_cache_hit_tokens",
    "cachedContentTokenCount",
    "num_cached_tokens",
];
const WRITTEN: [&str; 2] = ["cache_write_tokens", "cache_creation_input_tokens"];

/// Notes the last count of each kind. Those of the parts of an answer (`iterations`) are of no account.
fn note(value: &Value, last: &mut [Option<u64>; 2]) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let names: [&[&str]; 2] = [&READ, &WRITTEN];
                for (last, names) in last.iter_mut().zip(names) {
                    if names.contains(&&**name)
                        && let Some(count) = value.as_f64()
                    {
                        *last = Some(count as u64);
                    }
                }
                if name != "iterations" {
                    note(value, last);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| note(value, last)),
        _ => {}
    }
}

fn stated(recording: &Recording) -> [Option<u64>; 2] {
    let mut last = [None; 2];
    let body = String::from_utf8_lossy(&recording.body);
    for line in body.lines() {
        let data = line.strip_prefix("data:").unwrap_or(line);
        if let Ok(frame) = serde_json::from_str(data) {
            note(&frame, &mut last);
        }
    }
    last
}

#[test]
fn counts_of_the_cache_are_in_the_usage() {
    let Some(recordings) = recordings() else {
        return;
    };
    let mut found = 0;
    for recording in recordings {
        let decoded = recording.decode(recording.body.chunks(usize::MAX), false);
        let usage = decoded.heard.events.iter().find_map(|event| match event {
            Event::RunFinished(finished) => finished.usage.as_ref()?.first(),
            _ => None,
        });
        let Some(usage) = usage else { continue };
        let stated = stated(&recording);
        let read = [usage.cached_input_tokens, usage.cache_write_input_tokens];
        assert_eq!(read, stated, "{}", recording.name);
        found += usize::from(stated[0].is_some_and(|count| count > 0));
    }
    assert!(found >= 15, "{found} recordings with a cache");
}
