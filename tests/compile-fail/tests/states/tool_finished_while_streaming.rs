use stepwell_core::Timestamp;
use stepwell_core::run::{Run, Streaming, ticket};

fn no_tool_runs_while_the_model_speaks(run: Run<Streaming>, ticket: ticket::Tool) {
    let _ = run.tool_finished(ticket, Ok("42".into()), Timestamp(0));
}

fn main() {}
