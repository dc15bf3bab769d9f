use stepwell_core::Timestamp;
use stepwell_core::run::{EffectId, Run, Streaming};

fn an_id_is_no_ticket(mut run: Run<Streaming>) {
    run.persisted(EffectId::Persist { sequence: 0 }, Timestamp(0));
}

fn main() {}
