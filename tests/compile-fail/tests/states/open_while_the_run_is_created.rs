use stepwell_core::Timestamp;
use stepwell_core::run::{Opened, Opening, Run, ticket};

fn the_backend_has_not_created_the_run(run: Run<Opening>, ticket: ticket::CreateRun) -> Opened {
    run.opened(ticket, None, Timestamp(0))
}

fn main() {}
