use stepwell_core::run::{Run, State, Streaming};

fn a_state_is_not_put_on_from_outside<S: State>(run: Run<S>, state: Streaming) -> Run<Streaming> {
    Run { state, ..run }
}

fn main() {}
