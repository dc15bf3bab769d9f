//! Sessions: the tree of turns, what comes back from a store, and what the user is shown of it.
#![allow(unreachable_pub)] // the modules are this one test's

mod agent;
mod builder;
#[path = "../support/cases.rs"]
mod cases;
mod chat;
mod hydration;
mod plan;
mod stored;
mod thread;
mod tree;
mod view;
mod wire;
