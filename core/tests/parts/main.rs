//! The parts around a run: who owns a thread, conversations, tools and their arguments, and the pages about it all.

#[path = "../support/arguments.rs"]
mod arguments;
#[path = "../support/cases.rs"]
mod cases;

mod conversation_builder;
mod conversation_reducer;
mod partial_arguments;
mod readme;
mod registry;
mod tool_registry;
