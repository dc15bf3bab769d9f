use stepwell_core::run::{Opened, Opening, Run, ticket};
use stepwell_core::Timestamp;

fn a_request_that_was_not_sent_is_not_opened(run: Run<Opening>) -> Opened {
    let ticket = ticket::Open { hop: 0, attempt: 0 };
    run.opened(ticket, None, Timestamp(0))
}

fn main() {}
