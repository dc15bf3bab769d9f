//! Scenario files: runs as data, which every language plays.
//!
//! `tests/scenarios/README.md` in the project's repository describes the form. A failing case of
//! [`check_invariants`](crate::check_invariants) is written as such a file.
//!
//! ```
//! use serde_json::json;
//! use stepwell_testing::scenario::play;
//!
//! let played = play(&json!({
//!     "config": {"provider": "openai-compatible", "model": "m", "base_url": "http://localhost/v1"},
//!     "expect": {"outcome": "cancelled"},
//!     "steps": [
//!         {"input": "start", "run_id": "run-1", "say": "Hello"},
//!         {"input": "cancel"},
//!     ],
//! }));
//! assert!(played.unmet.is_empty(), "{:?}", played.unmet);
//! ```

mod chat;
mod config;
mod expect;
mod layout;
mod outputs;
mod player;
mod setup;
mod step;
mod wire;

pub use config::config;
pub use layout::write;
pub use player::Host;
pub use step::step;

use serde_json::Value;

/// A scenario that was played.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Played {
    /// The scenario with the result of each step (`gives`), the digests of its runs at the end (`digests`), and what a chat
    /// screen shows of them (`chats`).
    pub scenario: Value,
    /// The differences from the scenario's `expect`, `digests` and `chats`, and from the `gives` of its steps. Parts that
    /// the scenario leaves out are only played.
    pub unmet: Vec<String>,
}

/// Plays a scenario from its beginning to its end.
///
/// # Panics
/// If the scenario is not of the form.
#[must_use]
pub fn play(scenario: &Value) -> Played {
    let mut host = Host::new(scenario);
    let mut played = scenario.clone();
    let none = &mut Vec::new();
    for step in played["steps"].as_array_mut().unwrap_or(none) {
        let gives = host.step(step);
        step["gives"] = gives;
    }
    played["digests"] = Value::Object(host.digests());
    played["chats"] = Value::Object(host.chats());
    let mut unmet = expect::unmet(scenario, &played, &host);
    unmet.extend(differences(scenario, &played));
    Played {
        scenario: played,
        unmet,
    }
}

/// Returns the steps of a scenario whose results differ from its file, and the digests that differ.
fn differences(file: &Value, played: &Value) -> Vec<String> {
    let steps = |value: &Value| value["steps"].as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for (number, (file, played)) in (1..).zip(steps(file).iter().zip(&steps(played))) {
        if file.get("gives").is_some() && file["gives"] != played["gives"] {
            let input = played["input"].as_str().unwrap_or_default();
            found.push(format!(
                "step {number} ({input}):\n  the file says {}\n  it came to    {}",
                file["gives"], played["gives"],
            ));
        }
    }
    if file.get("digests").is_some() && file["digests"] != played["digests"] {
        found.push(format!(
            "the digests: the file says {}, they came to {}",
            file["digests"], played["digests"]
        ));
    }
    if file.get("chats").is_some() && file["chats"] != played["chats"] {
        found.push(format!(
            "the chats: the file says {}, they came to {}",
            file["chats"], played["chats"]
        ));
    }
    found
}
