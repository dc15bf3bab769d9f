//! Custom stores: the rules of every store, and turns that survive in one.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod agents;
mod app;
mod refused;
mod turns;

mod of_app {
    async fn open(_test: &str) -> std::sync::Arc<dyn stepwell_io::store::Store> {
        crate::app::store().inner()
    }

    stepwell_io::store_contract!(open);
}

mod with_store_runner {
    async fn open(_test: &str) -> std::sync::Arc<dyn stepwell_io::store::Store> {
        crate::app::runner_store().inner()
    }

    stepwell_io::store_contract!(open);
}
