//! The tree of a thread's turns.

use crate::stored::begun;
use proptest::prelude::*;
use stepwell_core::RunId;
use stepwell_core::run::{Attached, Block, BlockContent};
use stepwell_core::session::{SessionError, Turn, TurnBlock, TurnTree};

fn turn(id: &str, parent: Option<&str>, at: u64) -> Turn {
    begun(id, parent, None, at)
}

fn ids<'a>(turns: impl IntoIterator<Item = &'a Turn>) -> Vec<&'a str> {
    turns.into_iter().map(|turn| turn.id.as_str()).collect()
}

/// Two first turns; `b` was edited twice; what was sent last is `c`.
fn thread() -> Vec<Turn> {
    vec![
        turn("b3", Some("a"), 4),
        turn("a", None, 1),
        turn("c", Some("b"), 5),
        turn("b", Some("a"), 2),
        turn("b2", Some("a"), 3),
        turn("a2", None, 2),
    ]
}

#[test]
fn the_newest_end_is_shown_until_another_is_chosen() {
    let mut tree = TurnTree::new(thread()).expect("a tree");
    assert_eq!(ids(tree.shown()), ["a", "b", "c"]);
    tree.show("b2").expect("it is there");
    assert_eq!(ids(tree.shown()), ["a", "b2"]);
    tree.show("b").expect("it is there");
    assert_eq!(ids(tree.shown()), ["a", "b", "c"], "on to its end");
    tree.show("a").expect("it is there");
    assert_eq!(ids(tree.shown()), ["a", "b3"], "on to its newest end");
    let unknown = SessionError::UnknownTurn { turn: "x".into() };
    assert_eq!(tree.show("x"), Err(unknown));
    assert_eq!(ids(tree.shown()), ["a", "b3"]);
    assert!(TurnTree::default().shown().is_empty());
}

#[test]
fn siblings_are_in_the_order_of_time() {
    let tree = TurnTree::new(thread()).expect("a tree");
    assert_eq!(
        ids(tree.siblings("b2").expect("it is there")),
        ["b", "b2", "b3"]
    );
    assert_eq!(ids(tree.siblings("a2").expect("it is there")), ["a", "a2"]);
    assert!(tree.siblings("x").is_err(), "there is no such turn");
    let first = RunId::from("a");
    assert_eq!(ids(tree.children(Some(&first))), ["b", "b2", "b3"]);
    assert_eq!(ids(tree.path_to("b3").expect("it is there")), ["a", "b3"]);
}

#[test]
fn an_edited_message_makes_a_sibling_that_is_shown() {
    let mut tree = TurnTree::new(thread()).expect("a tree");
    tree.show("b2").expect("it is there");
    tree.add(turn("b4", Some("a"), 9)).expect("it fits");
    assert_eq!(ids(tree.shown()), ["a", "b4"]);
    assert_eq!(
        ids(tree.siblings("b4").expect("there")),
        ["b", "b2", "b3", "b4"]
    );
    let before = tree.clone();
    let turn_id = RunId::from("b4");
    let twice = SessionError::DuplicateTurn { turn: turn_id };
    assert_eq!(tree.add(turn("b4", None, 9)), Err(twice));
    let lost = SessionError::MissingParent {
        turn: "d".into(),
        parent: "x".into(),
    };
    assert_eq!(tree.add(turn("d", Some("x"), 9)), Err(lost));
    assert_eq!(tree, before);
}

#[test]
fn what_is_no_tree_is_said_so() {
    let error = |turns| TurnTree::new(turns).expect_err("it is no tree");
    assert_eq!(
        error(vec![turn("a", None, 1), turn("a", None, 2)]),
        SessionError::DuplicateTurn { turn: "a".into() }
    );
    assert_eq!(
        error(vec![turn("a", Some("gone"), 1)]),
        SessionError::MissingParent {
            turn: "a".into(),
            parent: "gone".into()
        }
    );
    for circle in [
        vec![turn("a", Some("a"), 1)],
        vec![
            turn("r", None, 0),
            turn("a", Some("b"), 1),
            turn("b", Some("a"), 2),
        ],
        vec![
            turn("a", Some("b"), 1),
            turn("b", Some("a"), 2),
            turn("c", Some("b"), 2),
        ],
    ] {
        assert!(matches!(error(circle), SessionError::Cycle { .. }));
    }
}

#[test]
fn a_gap_in_the_blocks_is_said_so() {
    let with = |numbers: &[u64]| {
        let mut turn = turn("a", None, 1);
        turn.blocks
            .extend(numbers.iter().map(|&sequence| TurnBlock {
                block: Block {
                    sequence,
                    hop: 0,
                    content: BlockContent::Text {
                        message_id: "m".into(),
                        text: "x".to_owned(),
                        attached: Attached::default(),
                    },
                },
                at: turn.created_at,
            }));
        TurnTree::new(vec![turn]).map(|_| ())
    };
    let gap = |expected, found| {
        Err(SessionError::SequenceGap {
            turn: "a".into(),
            expected,
            found,
        })
    };
    assert_eq!(with(&[0, 1, 2]), Ok(()));
    assert_eq!(with(&[1]), gap(0, 1));
    assert_eq!(with(&[0, 2]), gap(1, 2));
    assert_eq!(with(&[0, 0]), gap(1, 0));
    assert_eq!(with(&[0, u64::MAX]), gap(1, u64::MAX));
}

#[test]
fn a_path_of_a_hundred_thousand_turns_is_no_matter() {
    let name = |n: u64| format!("turn-{n}");
    let turns = (0..100_000u64).map(|n| {
        let parent = n.checked_sub(1).map(name);
        turn(&name(n), parent.as_deref(), n)
    });
    let tree = TurnTree::new(turns.collect()).expect("a tree");
    assert_eq!(tree.shown().len(), 100_000);
}

proptest! {
    /// Whatever the parents are: a tree whose every turn has a path, or an error.
    #[test]
    fn any_parents_give_a_tree_or_an_error(parents in prop::collection::vec(prop::option::of(0..12usize), 0..10), twice: bool) {
        let name = |n: usize| format!("t{n}");
        let mut turns: Vec<_> = parents
            .iter()
            .enumerate()
            .map(|(n, parent)| turn(&name(n), parent.map(name).as_deref(), 0))
            .collect();
        if twice && let Some(first) = turns.first().cloned() {
            turns.push(first);
        }
        let count = turns.len();
        if let Ok(tree) = TurnTree::new(turns) {
            for turn in tree.turns() {
                let path = tree.path_to(&turn.id).expect("a path");
                prop_assert!(path.len() <= count);
                prop_assert_eq!(path.first().expect("a first").parent.as_ref(), None);
                prop_assert_eq!(&path.last().expect("a last").id, &turn.id);
                prop_assert!(path.windows(2).all(|pair| pair[1].parent.as_ref() == Some(&pair[0].id)));
                let siblings = tree.siblings(&turn.id).expect("it is there");
                prop_assert_eq!(siblings.filter(|sibling| sibling.id == turn.id).count(), 1);
            }
            prop_assert_eq!(tree.shown().is_empty(), count == 0);
            let is_end = |leaf: &Turn| tree.children(Some(&leaf.id)).next().is_none();
            prop_assert!(tree.leaf().is_none_or(is_end));
        }
    }
}
