use stepwell_core::Timestamp;
use stepwell_core::run::{ExecutingTools, Run, Settled, ticket};

fn a_tool_has_one_result(run: Run<ExecutingTools>, ticket: ticket::Tool) {
    let Settled::ExecutingTools(run) = run.tool_finished(ticket, Ok("1".into()), Timestamp(0)) else {
        return;
    };
    let _ = run.tool_finished(ticket, Ok("2".into()), Timestamp(0));
}

fn main() {}
