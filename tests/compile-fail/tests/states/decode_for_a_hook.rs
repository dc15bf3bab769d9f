use stepwell_core::Timestamp;
use stepwell_core::run::{Decoding, Judged, Run, ticket};

fn a_hook_decodes_nothing(run: Run<Decoding>, ticket: ticket::AnswerHook) -> Judged {
    run.decoded(ticket, Timestamp(0))
}

fn main() {}
