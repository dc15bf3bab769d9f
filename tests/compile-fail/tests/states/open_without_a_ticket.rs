use stepwell_core::Timestamp;
use stepwell_core::run::{Opened, Opening, Run};

fn a_request_that_was_not_sent_is_not_opened(run: Run<Opening>) -> Opened {
    run.opened(None, Timestamp(0))
}

fn main() {}
