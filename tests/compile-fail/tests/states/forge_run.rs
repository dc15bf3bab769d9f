use stepwell_core::run::{Opening, Run, Streaming};

fn a_state_is_not_put_on_from_outside(run: Run<Opening>, state: Streaming) -> Run<Streaming> {
    let Run { turn, .. } = run;
    Run { turn, state }
}

fn main() {}
