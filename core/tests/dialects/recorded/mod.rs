//! What real servers sent, against what the official SDK makes of it.
//!
//! The recordings lie beside the repository (`../shared`, or where `STEPWELL_SHARED` says), not in it. Without them a
//! test says that it was skipped; in CI it fails.

mod cached;
mod outcome;

use crate::stream::Stream;
use crate::thorough::is_thorough;
use outcome::{expectation, outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::{Event, EventRef};
use stepwell_core::pipeline::{Listener, Pipeline, StreamEnd, StreamError};
use stepwell_core::provider;
use stepwell_core::transcript::{Applied, Transcript};
use stepwell_core::wire::FrameLimits;

/// One recorded stream.
struct Recording {
    api: &'static str,
    name: String,
    /// The folder that it is in, which is its provider's name.
    provider: String,
    dialect: Dialect,
    body: Vec<u8>,
    expected: Value,
}

/// The APIs with recordings, in the manifest's words, and how many there are at least.
const APIS: [(&str, usize); 6] = [
    ("chat", 51),
    ("responses", 14),
    ("messages", 17),
    ("generateContent", 10),
    ("ollama-chat", 7),
    ("v2chat", 10),
];

/// Where an expectation is wrong: the file, a place in the expectation, what is there, and what should be.
const WRONG: [(&str, &str, &str, &str); 1] = [
    // The SDK's stable client gathers the input of `tool_use` and `server_tool_use` blocks alone, so that it loses what
    // the stream says in `input_json_delta`s for an `mcp_tool_use`.
    (
        "anthropic/pyai-anthropic-mcp-servers-stream.sse",
        "/server_tools/0/input",
        "{}",
        r#"{"repoName":"pydantic/pydantic-ai","question":"What is this repository about? What are its main features and purpose?"}"#,
    ),
];

pub(crate) fn fixtures() -> Option<PathBuf> {
    let shared = std::env::var_os("STEPWELL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let fixtures = shared.join("fixtures");
    if fixtures.join("manifest.json").exists() {
        return Some(fixtures);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "no recordings at {}: set STEPWELL_SHARED",
        fixtures.display()
    );
    eprintln!("SKIPPED: no recordings at {}", fixtures.display());
    None
}

fn json_file(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All streams; `None` where there are none at all.
fn recordings() -> Option<Vec<Recording>> {
    let fixtures = fixtures()?;
    let manifest = json_file(&fixtures.join("manifest.json"));
    let entries = manifest.as_array().expect("the manifest is a list");
    let mut recordings = Vec::new();
    for (api, least) in APIS {
        let of_api = entries.iter().filter(|entry| entry["api"] == api);
        let before = recordings.len();
        recordings.extend(of_api.map(|entry| recording(&fixtures, api, entry)));
        let count = recordings.len() - before;
        assert!(count >= least, "{api}: only {count}");
    }
    Some(recordings)
}

fn recording(fixtures: &Path, api: &'static str, entry: &Value) -> Recording {
    let name = entry["file"].as_str().expect("a file name").to_owned();
    let (folder, _) = name.split_once('/').expect("a folder");
    let path = fixtures.join("streams").join(&name);
    let mut expected = json_file(&path.with_extension("expected.json"));
    for (_, place, wrong, right) in WRONG.iter().filter(|(file, ..)| *file == name) {
        let value = expected.pointer_mut(place).expect("a place");
        assert_eq!(value.to_string(), *wrong, "{name} is no longer wrong");
        *value = serde_json::from_str(right).expect("JSON");
    }
    Recording {
        api,
        provider: folder.to_owned(),
        dialect: provider::find(folder)
            .expect("a provider")
            .api(Some(api))
            .expect("an API of its")
            .dialect,
        body: std::fs::read(&path).expect("a recording"),
        expected,
        name,
    }
}

/// Keeps what a pipeline says.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    events: Vec<Event>,
    warnings: Vec<String>,
}

impl Listener for Heard {
    fn applied(&mut self, event: EventRef<'_>, _applied: &Applied, _conversation: &Transcript) {
        self.events.push(event.to_event());
    }

    fn moving(&mut self, _conversation: &Transcript) {}

    fn warning(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }

    fn unknown_call(&mut self, id: &str, message: &str) {
        self.warnings.push(format!("{id}: {message}"));
    }
}

/// All that comes of a stream.
#[derive(Debug, PartialEq)]
struct Decoded {
    heard: Heard,
    transcript: Transcript,
    end: Result<StreamEnd, StreamError>,
}

impl Recording {
    fn pipeline(&self) -> Pipeline {
        let ids = HopIds {
            thread_id: "t".into(),
            run_id: "r".into(),
            provider: self.provider.clone(),
        };
        Pipeline::new(self.dialect, ids, FrameLimits::default())
    }

    /// Decodes it in these pieces, with a snapshot of the pipeline and its restoration between two of them.
    fn decode<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>, snapshots: bool) -> Decoded {
        let mut pipeline = self.pipeline();
        let mut heard = Heard::default();
        let mut transcript = Transcript::default();
        let mut failed = None;
        for piece in pieces {
            if let Err(error) = pipeline.receive(piece, &mut transcript, &mut heard) {
                failed = Some(error);
                break;
            }
            if snapshots {
                let snapshot = serde_json::to_vec(&pipeline).expect("a pipeline is plain data");
                pipeline = serde_json::from_slice(&snapshot).expect("a snapshot can be read");
            }
        }
        let end = match failed {
            Some(error) => Err(error),
            None => pipeline.end(&mut transcript, &mut heard),
        };
        Decoded {
            heard,
            transcript,
            end,
        }
    }

    fn whole(&self) -> Decoded {
        self.decode(std::iter::once(self.body.as_slice()), false)
    }
}

#[test]
fn recorded_streams_decode_as_the_official_sdk_decodes_them() {
    let mut failures = Vec::new();
    for recording in recordings().unwrap_or_default() {
        let name = &recording.name;
        let decoded = recording.whole();
        let actual = outcome(&recording, &decoded);
        let expected = expectation(&recording, &actual);
        if decoded.end.is_err() || actual != expected || !decoded.heard.warnings.is_empty() {
            failures.push(format!(
                "{name}: {:?} {:?}\n  got  {actual}\n  want {expected}",
                decoded.end, decoded.heard.warnings
            ));
        }
        if recording.api == "messages" {
            assert_eq!(json!(decoded.transcript.text()), expected["text"], "{name}");
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn i03_recorded_streams_may_be_cut_anywhere() {
    for recording in recordings().unwrap_or_default() {
        let whole = recording.whole();
        for size in [1, 7, 64, 1_024] {
            let decoded = recording.decode(recording.body.chunks(size), false);
            assert_eq!(decoded, whole, "{} in pieces of {size}", recording.name);
        }
    }
}

/// After every third byte of the smallest stream of each provider, and at 30 places of the others, which are the same in every
/// run; after every byte and at 100 places with `STEPWELL_THOROUGH`. A provider's streams are made of the same frames, so that every byte of more of them says nothing new.
#[test]
fn i04_a_snapshot_anywhere_in_a_recorded_stream_changes_nothing() {
    let (size, cuts) = if is_thorough() { (1, 100) } else { (3, 30) };
    let recordings = recordings().unwrap_or_default();
    let mut by_provider: BTreeMap<_, Vec<&Recording>> = BTreeMap::new();
    for recording in &recordings {
        let key = (recording.api, &recording.provider);
        by_provider.entry(key).or_default().push(recording);
    }
    std::thread::scope(|scope| {
        for recordings in by_provider.values_mut() {
            scope.spawn(|| {
                recordings.sort_by_key(|recording| recording.body.len());
                for (place, recording) in recordings.iter().enumerate() {
                    let whole = recording.whole();
                    let body = recording.body.as_slice();
                    let decoded = if place == 0 {
                        recording.decode(body.chunks(size), true)
                    } else {
                        recording.decode(pieces(body, cuts).into_iter(), true)
                    };
                    assert_eq!(decoded, whole, "{}", recording.name);
                }
            });
        }
    });
}

#[test]
fn recorded_streams_read_the_same_without_templates() {
    for recording in recordings().unwrap_or_default() {
        let whole = Stream::new(recording.dialect).run(&recording.body, usize::MAX);
        let mut stream = Stream::new(recording.dialect);
        stream.without_templates = true;
        let without = stream.run(&recording.body, 1_000);
        assert_eq!(without, whole, "{}", recording.name);
    }
}

/// The body cut at this many places, which look random and are the same each time.
fn pieces(body: &[u8], cuts: usize) -> Vec<&[u8]> {
    let mut state = body.len() as u64;
    let mut places: Vec<usize> = (0..cuts)
        .map(|_| {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            usize::try_from((mixed ^ (mixed >> 31)) % body.len() as u64).expect("a place")
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    let ends = places.iter().copied().chain([body.len()]);
    let starts = [0].into_iter().chain(places.iter().copied());
    starts.zip(ends).map(|(from, to)| &body[from..to]).collect()
}
