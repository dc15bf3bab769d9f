//! The scenario files of `tests/scenarios`, played by the core. The bindings play the same files, and must come to the
//! same effects and digests.
//!
//! `STEPWELL_UPDATE=1 cargo test -p stepwell-core --test scenarios` writes what comes of each input into the files; what
//! is written by hand (`expect`) stays, and is checked against the table of failures by people.

mod coverage;
mod ring;
#[path = "../support/thorough.rs"]
mod thorough;

use serde_json::{Value, json};
use std::path::PathBuf;
use stepwell_testing::scenario::{self, Host, play};

/// A scenario file.
struct Scenario {
    name: String,
    path: PathBuf,
    content: Value,
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/scenarios"))
}

/// All of them, by name.
fn scenarios() -> Vec<Scenario> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder()).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let name = name.into_owned();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
            && name != "schema"
        {
            let text = std::fs::read_to_string(&path).expect("text");
            let content = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{name} is not JSON: {error}"));
            found.push(Scenario {
                name,
                path,
                content,
            });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn is_update() -> bool {
    std::env::var("STEPWELL_UPDATE").is_ok_and(|value| !matches!(value.as_str(), "" | "0"))
}

/// The file as its author writes it, without what came of it.
fn by_hand(file: &Value) -> Value {
    let mut file = file.clone();
    for step in file["steps"].as_array_mut().expect("steps") {
        step.as_object_mut().expect("a step").shift_remove("gives");
    }
    let fields = file.as_object_mut().expect("a scenario");
    fields.shift_remove("digests");
    fields.shift_remove("chats");
    file
}

#[test]
fn every_scenario_comes_to_what_its_file_says() {
    let mut failures = Vec::new();
    for Scenario {
        name,
        path,
        content,
    } in scenarios()
    {
        let played = if is_update() {
            let played = play(&by_hand(&content));
            let text = scenario::write(&played.scenario);
            std::fs::write(path, text).expect("the file can be written");
            played
        } else {
            let steps = content["steps"].as_array().expect("steps");
            let is_whole = steps.iter().all(|step| step.get("gives").is_some());
            assert!(
                is_whole && content.get("digests").is_some() && content.get("chats").is_some(),
                "{name}: run the test with STEPWELL_UPDATE=1"
            );
            play(&content)
        };
        let unmet = played.unmet.into_iter();
        failures.extend(unmet.map(|unmet| format!("{name}: {unmet}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The files are laid out as the update writes them, so that an update shows only what has changed.
#[test]
fn the_files_are_laid_out_as_they_are_written() {
    if is_update() {
        return;
    }
    for scenario in scenarios() {
        let text = std::fs::read_to_string(&scenario.path).expect("text");
        assert!(
            text == scenario::write(&scenario.content),
            "{}: run the test with STEPWELL_UPDATE=1",
            scenario.name
        );
    }
}

#[test]
fn a_changed_input_changes_the_digest() {
    let scenarios = scenarios();
    let scenario = scenarios.first().expect("there are files");
    let text = scenario.content.to_string();
    assert!(text.contains("Hello"), "{}", scenario.name);
    let changed = serde_json::from_str(&text.replace("\"Hello", "\"Hallo")).expect("JSON");
    let played = play(&changed);
    assert_ne!(played.scenario["digests"], scenario.content["digests"]);
    assert!(!played.unmet.is_empty());
}

/// Being stored and restored after every step changes nothing.
#[test]
fn a_restore_after_every_step_changes_nothing() {
    for scenario in scenarios() {
        let mut host = Host::new(&scenario.content);
        for step in scenario.content["steps"].as_array().expect("steps") {
            if !host.is_disposed() {
                host.restore_all();
            }
            let gives = host.step(step);
            assert_eq!(gives, step["gives"], "{}", scenario.name);
        }
        for (came, name) in [(host.digests(), "digests"), (host.chats(), "chats")] {
            let expected = &scenario.content[name];
            assert_eq!(&Value::Object(came), expected, "{}", scenario.name);
        }
    }
}

/// In single bytes, a run is stored and restored before every seventh: no frame has a multiple of that many bytes for long,
/// so all the places within frames have their turn.
const RESTORED_BYTES: usize = 7;

/// However the bodies are cut, the same comes of them.
#[test]
fn single_bytes_come_to_the_same() {
    for scenario in scenarios() {
        let mut cut = scenario.content.clone();
        for step in cut["steps"].as_array_mut().expect("steps") {
            // Late bytes are dropped piece by piece, and that is said as often.
            let is_late = step["gives"].to_string().contains("answer_dropped");
            if step["input"] == "receive" && !is_late {
                step["cut"] = json!(1);
                if step["restore_between"] == true && !thorough::is_thorough() {
                    step["restore_between"] = json!(RESTORED_BYTES);
                }
            }
        }
        let unmet = play(&cut).unmet;
        assert!(
            unmet.is_empty(),
            "{} in single bytes, {}",
            scenario.name,
            unmet.join("\n")
        );
    }
}
