use stepwell_core::Timestamp;
use stepwell_core::run::{Opening, Run};

fn what_was_not_opened_cannot_end(run: Run<Opening>) {
    let _ = run.end(Timestamp(0));
}

fn main() {}
