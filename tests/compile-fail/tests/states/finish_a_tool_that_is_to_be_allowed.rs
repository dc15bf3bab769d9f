use stepwell_core::Timestamp;
use stepwell_core::run::{ExecutingTools, Run, Settled, ticket};

fn the_user_has_not_allowed_it(run: Run<ExecutingTools>, ticket: ticket::Approve) -> Settled {
    run.tool_finished(ticket, Ok("sneaky".into()), Timestamp(0))
}

fn main() {}
