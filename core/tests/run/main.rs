//! The run machine in a simulated world.
#![allow(unreachable_pub)] // the modules are this one test's

mod approval;
mod cancel;
mod create_run;
mod deferred;
mod durability;
mod edges;
mod failures;
mod host;
mod ids_and_outputs;
mod interrupts;
mod invariants;
mod limits;
mod look;
mod mad;
mod mad_checks;
mod misuse;
mod moves;
mod one_call;
mod repeats;
mod restore;
mod store;
mod threads;
mod timeouts;
mod tools;
mod turn;
mod typed;
mod wire;
mod world;
