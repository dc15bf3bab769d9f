use serde::Serialize;
use stepwell_core::run::{State, StateKind};

#[derive(Serialize)]
struct Mine;

impl State for Mine {
    const KIND: StateKind = StateKind::Idle;
}

fn main() {}
