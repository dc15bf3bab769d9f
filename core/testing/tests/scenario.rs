//! Checks that a run's steps, written as a scenario, have the same result.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use stepwell_core::journal::Digest;
use stepwell_testing::chaos::{Action, Chaos, actions};
use stepwell_testing::scenario::play;
use stepwell_testing::{Setting, settings};

fn run(setting: Setting, actions: &[Action]) -> Chaos {
    let mut config = setting.config();
    // No scenario can name a price.
    config.endpoint.quirks.price = None;
    for other in &mut config.fallback.models {
        other.endpoint.quirks.price = None;
    }
    config.limits.max_cost = None;
    let mut chaos = Chaos::new(config);
    actions.iter().for_each(|action| chaos.apply(*action));
    chaos.settle();
    chaos
}

fn assert_plays_alike(chaos: &Chaos) {
    let played = play(&chaos.scenario());
    let digest = Digest::of_run(chaos.machine()).to_string();
    assert_eq!(
        played.scenario["digests"]["run"],
        digest,
        "{:#}",
        chaos.scenario()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn comes_to_the_same_digest(setting in settings(), actions in actions()) {
        let chaos = run(setting, &actions);
        if chaos.has_complete_scenario() {
            assert_plays_alike(&chaos);
        }
    }
}

#[test]
fn most_runs_have_a_complete_scenario() {
    let mut runner = TestRunner::deterministic();
    let mut complete = 0;
    for _ in 0..64 {
        let tree = (settings(), actions())
            .new_tree(&mut runner)
            .expect("a case");
        let (setting, actions) = tree.current();
        complete += usize::from(run(setting, &actions).has_complete_scenario());
    }
    assert!(complete >= 16, "{complete} of 64");
}
