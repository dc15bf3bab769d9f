//! The small share of fuzzing: what the fuzz targets hold of any bytes, over their seeds, over what they once found, and
//! over seeds changed at random. `cargo xtask prove fuzz` lets the engine search on.

#![allow(unreachable_pub)] // the targets, which share it, need it so

#[path = "../../fuzz/src/lib.rs"]
mod targets;

use proptest::prelude::*;
use proptest::sample::Index;
use std::fs;
use std::path::{Path, PathBuf};
use stepwell_core::dialect::Dialect;

fn files(kind: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz")
        .join(kind)
        .join(target);
    let mut files: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    files.sort();
    files
}

fn bodies(kind: &str, target: &str) -> Vec<Vec<u8>> {
    let read = |path: PathBuf| fs::read(path).expect("a readable file");
    files(kind, target).into_iter().map(read).collect()
}

#[test]
fn every_dialect_has_a_target_and_seeds() {
    let manifest = include_str!("../../fuzz/Cargo.toml");
    let others = ["ag-ui-protobuf", "wire"];
    for name in Dialect::ALL.map(Dialect::name).into_iter().chain(others) {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        assert!(!files("seeds", name).is_empty(), "{name}");
    }
}

#[test]
fn the_seeds_and_what_was_found_hold() {
    for kind in ["seeds", "found"] {
        for dialect in Dialect::ALL {
            for body in bodies(kind, dialect.name()) {
                targets::stream(dialect, &body);
            }
        }
        for body in bodies(kind, "ag-ui-protobuf") {
            targets::protobuf(&body);
        }
        for body in bodies(kind, "wire") {
            targets::frames(&body);
        }
    }
}

/// One change to a body: what a mutating fuzzer does.
#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Remove(Index, usize),
    Repeat(Index, usize),
    Insert(Index, &'static str),
}

fn change() -> impl Strategy<Value = Change> {
    let places = any::<Index>;
    let tokens = prop::sample::select(vec![
        "null",
        "{}",
        "[]",
        "\"",
        "\\u0000",
        "\\ud800",
        "\n\n",
        "\r",
        "data: ",
        "event: error\n",
        "1e400",
        "-1",
        "[DONE]",
        ",",
        "true",
        "\u{1F642}",
        "18446744073709551616",
    ]);
    prop_oneof![
        (places(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (places(), 1..40usize).prop_map(|(at, many)| Change::Remove(at, many)),
        (places(), 1..200usize).prop_map(|(at, many)| Change::Repeat(at, many)),
        (places(), tokens).prop_map(|(at, token)| Change::Insert(at, token)),
    ]
}

fn changed(mut body: Vec<u8>, changes: Vec<Change>) -> Vec<u8> {
    for change in changes {
        let len = body.len();
        match change {
            Change::Set(at, byte) if len > 0 => body[at.index(len)] = byte,
            Change::Remove(at, many) => {
                let at = at.index(len + 1);
                body.drain(at..(at + many).min(len));
            }
            Change::Repeat(at, many) => {
                let at = at.index(len + 1);
                let piece = body[at..(at + many).min(len)].to_vec();
                body.splice(at..at, piece);
            }
            Change::Insert(at, token) => {
                let at = at.index(len + 1);
                body.splice(at..at, token.bytes());
            }
            Change::Set(..) => {}
        }
    }
    body
}

proptest! {
    #[test]
    fn changed_seeds_hold(
        dialect in prop::sample::select(Dialect::ALL.to_vec()),
        seed in any::<Index>(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let seeds = bodies("seeds", dialect.name());
        let body = changed(seeds[seed.index(seeds.len())].clone(), changes);
        targets::stream(dialect, &body);
    }

    #[test]
    fn changed_protobuf_holds(seed in any::<Index>(), changes in prop::collection::vec(change(), 1..6)) {
        let seeds = bodies("seeds", "ag-ui-protobuf");
        targets::protobuf(&changed(seeds[seed.index(seeds.len())].clone(), changes));
    }

    #[test]
    fn changed_frames_hold(seed in any::<Index>(), changes in prop::collection::vec(change(), 1..6)) {
        let seeds = bodies("seeds", "wire");
        targets::frames(&changed(seeds[seed.index(seeds.len())].clone(), changes));
    }
}
