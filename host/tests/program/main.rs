//! The program as its users have it: arguments and input in, lines and exit codes out.

#![allow(clippy::unwrap_used)] // the lint knows test functions, not their helpers

mod agui;
mod bench;
mod chat;
mod config;
mod decode;
mod demo;
#[path = "../support/file.rs"]
mod file;
mod journal;
mod load;
mod mcp;
mod mistakes;
mod pages;
#[path = "../support/program.rs"]
mod program;
mod providers;
mod run;
#[cfg(unix)]
mod terminal;
