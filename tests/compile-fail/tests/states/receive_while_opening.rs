use stepwell_core::Timestamp;
use stepwell_core::run::{Opening, Run};

fn no_body_before_it_was_opened(mut run: Run<Opening>) {
    let _ = run.receive(b"data: {}", Timestamp(0));
}

fn main() {}
