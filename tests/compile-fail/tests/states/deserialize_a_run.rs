use serde::Deserialize;
use stepwell_core::run::{Run, Streaming};

fn a_run_comes_back_by_restore_alone(stored: serde_json::Value) {
    let _ = Run::<Streaming>::deserialize(stored);
}

fn main() {}
