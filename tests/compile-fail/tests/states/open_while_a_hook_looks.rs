use stepwell_core::Timestamp;
use stepwell_core::run::{Opened, Opening, Run, ticket};

fn a_hook_has_the_request(run: Run<Opening>, ticket: ticket::RequestHook) -> Opened {
    run.opened(ticket, None, Timestamp(0))
}

fn main() {}
