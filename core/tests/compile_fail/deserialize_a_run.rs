use stepwell_core::run::{Run, Streaming};

fn a_run_comes_back_by_restore_alone(text: &str) -> Run<Streaming> {
    serde_json::from_str(text).unwrap()
}

fn main() {}
