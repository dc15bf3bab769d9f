//! Compactions in blocks, journals and old snapshots.

use super::{summary, summary_policy};
use crate::context::{guarded, long_history, with_history};
use crate::durability::stored;
use crate::journal::{parsed, written};
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{Block, BlockContent, ContextPolicy, EffectId, Outcome, RunMachine};
use stepwell_core::transcript::{SUMMARY, Transcript};
use stepwell_testing::reply::text;

#[test]
fn a_compacted_turn_replays_and_can_be_redacted() {
    let mut world = guarded(1_500, ContextPolicy::Fail, |config| {
        config.compaction = summary_policy();
        config.durability = stepwell_core::run::Durability::Blocks { attempts: 1 };
    })
    .journaled();
    let history = Transcript::new(long_history());
    let journal =
        stepwell_core::journal::JournalWriter::new(&world.config, &"thread".into(), &history);
    world.machine = RunMachine::new(Arc::clone(&world.config), "thread".into(), history.clone());
    world.store.turn.history = history;
    world.journal = Some(journal);
    let mut world = world.streams(summary()).streams([text("Yes.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let text = written(&mut world);
    let journal = parsed(&text);
    journal.replay().expect("the same run");
    assert!(!journal.redact().contains("They spoke of x and y."));
}

#[test]
fn the_blocks_rebuild_the_compaction() {
    let world = stored(Dialect::OpenAiChat, |config| {
        config.context_guard.window = Some(1_500);
        config.compaction = summary_policy();
    });
    let mut world = with_history(world, long_history());
    world.store.turn.history = Transcript::new(long_history());
    let world = world.streams(summary()).streams([text("Yes.")]).turn();
    let blocks: Vec<&Block> = world
        .store
        .turn
        .turn
        .blocks
        .iter()
        .map(|it| &it.block)
        .collect();
    let compacted = blocks.iter().find_map(|block| match &block.content {
        BlockContent::Compacted { compaction, .. } => Some(compaction),
        _ => None,
    });
    assert_eq!(compacted, Some(world.machine.transcript().compaction()));
    assert!(!compacted.expect("it is recorded").is_none());
    let effect = EffectId::Open { hop: 0, attempt: 1 };
    assert!(
        world
            .seen
            .effect_names()
            .contains(&format!("open {effect}"))
    );
    let carried = world.seen.requests();
    assert!(
        !carried[1].to_string().contains(SUMMARY),
        "ids are not sent"
    );
}
