use stepwell_core::Timestamp;
use stepwell_core::run::{Run, Streaming};

fn a_run_that_has_moved_on_is_gone(run: Run<Streaming>) {
    let _ = run.end(Timestamp(0));
    let _ = run.cancel(Timestamp(0));
}

fn main() {}
