//! The program as its users have it: arguments and input in, lines and exit codes out.

mod agui;
mod bench;
mod chat;
mod decode;
mod demo;
mod journal;
mod mcp;
mod mistakes;
mod providers;
mod run;
