use stepwell_core::run::{Run, Streaming};
use stepwell_core::{CallKey, Timestamp};

fn no_tool_runs_while_the_model_speaks(run: Run<Streaming>) {
    let _ = run.tool_finished(CallKey { hop: 0, index: 0 }, Ok("42".into()), Timestamp(0));
}

fn main() {}
