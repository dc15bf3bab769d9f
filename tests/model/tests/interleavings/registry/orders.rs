//! The shared registry under every order in which its threads' steps can come.
//!
//! Each run is compared with the plain registry: some order of the calls, one after the other, must give the same
//! answers, the same events and the same registry. That a fault would be found, `cargo xtask test threads` shows with those
//! of `tests/faults/registry.toml`.

use super::script::{Script, Step, Which};
use super::{SharedRegistry, ThreadKey};
use super::{foreign, script};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use Step::{Check, Complete, Fails, LookAt, LookAway, Poll, Register, Remove, Replace, Unread};
use Which::{First, Mine};

/// The scripts that have names. Each begins with a run that owns the thread: `First`.
fn scenarios() -> Vec<Script> {
    [
        // Of racing owners one wins.
        &[&[Replace(First)][..], &[Replace(First)], &[Replace(First)]][..],
        &[&[Replace(First)], &[Complete(First)], &[Register]],
        &[&[Remove], &[Complete(First)], &[Register]],
        // Start, stop, replace, resume.
        &[&[Register, Complete(Mine)], &[Replace(First), Check(Mine)]],
        &[
            &[Replace(First), Replace(Mine)],
            &[Check(First), Complete(First)],
        ],
        &[&[Register, Replace(Mine)], &[Register, Check(Mine)]],
        // The observed thread, and the unread ones.
        &[&[LookAt, Unread], &[Complete(First)]],
        &[&[LookAt], &[Complete(First)], &[LookAway]],
        &[&[LookAt, LookAway], &[Register, Complete(Mine)]],
        &[&[Complete(First), Fails(First)], &[LookAt, Unread]],
        // Events go to one caller each, in order.
        &[&[Register], &[Replace(First)], &[Poll]],
        &[&[Register, Replace(Mine)], &[Poll, Poll]],
    ]
    .into_iter()
    .map(|threads| threads.iter().map(|steps| steps.to_vec()).collect())
    .collect()
}

/// Tries all orders of a script; how many there were.
fn all_orders(script: Script) -> usize {
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&orders);
    shuttle::check_dfs(
        move || {
            counted.fetch_add(1, Ordering::Relaxed);
            script::play(&SharedRegistry::default(), &script);
        },
        None,
    );
    orders.load(Ordering::Relaxed)
}

#[test]
fn i11_every_order_of_the_scenarios_is_explained_by_one_thread() {
    let orders: usize = scenarios().into_iter().map(all_orders).sum();
    println!("{orders} orders of {} scripts", scenarios().len());
    assert!(orders > 2_000, "{orders} orders are not all");
}

#[test]
fn i11_every_order_of_any_calls_is_explained_by_one_thread() {
    let mut orders = 0;
    for [one, two] in script::pairs() {
        let script = vec![vec![one, two], vec![two, one]];
        orders += all_orders(script);
    }
    for three in script::triples(&Step::CHANGES) {
        let script = three.map(|step| vec![step]).to_vec();
        orders += all_orders(script);
    }
    println!("{orders} orders of any calls");
    assert!(orders > 20_000, "{orders} orders are not all");
}

/// Random scripts in random orders, and in orders that change rarely (PCT).
fn random_orders(scripts: u64, orders: usize) {
    for seed in 0..scripts {
        let (threads, steps) = (2 + seed as usize % 3, 2 + seed as usize % 4);
        let one = script::random(seed, threads, steps);
        let other = one.clone();
        shuttle::check_random(
            move || script::play(&SharedRegistry::default(), &one),
            orders,
        );
        // Changes of thread, at most, where nothing forces one.
        let changes = 3;
        shuttle::check_pct(
            move || script::play(&SharedRegistry::default(), &other),
            orders,
            changes,
        );
    }
}

#[test]
fn i11_random_orders_of_longer_scripts_are_explained_by_one_thread() {
    random_orders(40, 20);
}

/// For `cargo xtask prove threads`.
#[test]
#[ignore = "takes minutes"]
fn i11_many_more_scripts_in_every_order_and_in_random_ones() {
    let mut orders = 0;
    let pairs: Vec<_> = script::pairs().collect();
    for (index, one) in pairs.iter().enumerate() {
        for other in &pairs[index..] {
            let script = vec![one.to_vec(), other.to_vec()];
            orders += all_orders(script);
        }
    }
    for three in script::triples(&Step::ALL) {
        let script = three.map(|step| vec![step]).to_vec();
        orders += all_orders(script);
    }
    let four = [Replace(First), Complete(First), Register, Remove];
    orders += all_orders(four.map(|step| vec![step]).to_vec());
    println!("{orders} orders of many more scripts");
    random_orders(2_000, 50);
}

#[test]
fn nobody_waits_while_foreign_code_runs() {
    for traced in foreign::TRACED {
        shuttle::check_dfs(
            move || foreign::stuck_subscriber(&SharedRegistry::default(), traced),
            None,
        );
    }
}

/// A panic of one thread under the lock while others call.
#[test]
fn a_panic_under_the_lock_harms_nobody() {
    let one_panics = || {
        let registry = SharedRegistry::default();
        let first = registry.register(ThreadKey::from("thread")).handle;
        let other = registry.clone();
        let panicking = shuttle::thread::spawn(move || {
            let panics = || {
                let _guard = other.lock();
                panic!("under the lock");
            };
            catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        });
        assert!(registry.replace(&first).is_ok());
        assert!(registry.check(&first).is_err());
        panicking.join().unwrap();
    };
    shuttle::check_dfs(one_panics, None);
}
