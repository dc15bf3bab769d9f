use stepwell_core::Timestamp;
use stepwell_core::run::{Opened, Opening, Run, ticket};

fn the_request_is_not_made_yet(run: Run<Opening>, ticket: ticket::Trim) -> Opened {
    run.opened(ticket, None, Timestamp(0))
}

fn main() {}
