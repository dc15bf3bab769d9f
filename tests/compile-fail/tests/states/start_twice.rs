use stepwell_core::Timestamp;
use stepwell_core::event::Message;
use stepwell_core::run::{Idle, Run, Start, Started};

fn a_run_starts_once(run: Run<Idle>) {
    let Started::Opening(run) = run.start(Start::new("run-1", Message::user("m1", "Hello")), Timestamp(0)) else {
        return;
    };
    let _ = run.start(Start::new("run-2", Message::user("m2", "Again")), Timestamp(0));
}

fn main() {}
