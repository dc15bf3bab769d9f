use stepwell_core::run::{Run, Streaming};

fn there_is_one_run(run: &Run<Streaming>) -> Run<Streaming> {
    Clone::clone(run)
}

fn main() {}
