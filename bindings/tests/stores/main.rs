//! Stores of the app's own: the rules of every store, and turns that survive in one.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod agents;
mod app;
#[path = "../../../io/tests/store/contract/mod.rs"]
mod contract;
mod refused;
#[path = "../../../io/tests/store/support.rs"]
mod support;
mod turns;

macro_rules! contract {
    ($($test:ident)*) => {
        mod of_app {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                crate::contract::$test(crate::app::store().inner()).await;
            })*
        }

        mod with_store_runner {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                crate::contract::$test(crate::app::runner_store().inner()).await;
            })*
        }
    };
}

contract::rules!(contract);
