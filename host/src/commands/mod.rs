//! One file a command.

mod agui;
mod asking;
mod bench;
mod beside;
mod chat;
mod config;
mod decode;
mod guard;
mod providers;
mod record;
mod replay;
mod serve;
mod session;
mod statechart;
mod token;

use crate::settings::Sources;
use clap::Subcommand;
use std::future::Future;
use stepwell_demo::Demo;
use stepwell_demo::Failure;

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Two secret numbers, found by two tools: a whole turn with a scripted model, without key and network.
    Demo(Demo),
    /// Talks with a model that has a clock and a calculator.
    Chat(chat::Chat),
    /// Decodes a recorded stream, and prints what it says as JSON.
    Decode(decode::Decode),
    /// Tools for AG-UI streams: `agui check` says where a recorded one breaks the protocol.
    Agui(agui::Agui),
    /// Measures how fast a recorded stream becomes a conversation.
    Bench(bench::Bench),
    /// Writes the journal of one turn: every input with its time, to be replayed.
    Record(record::Record),
    /// Lives through a journal again, and says at which input it differs.
    Replay(replay::Replay),
    /// Prints the states of a run and the moves between them.
    Statechart(statechart::Statechart),
    /// Serves an AG-UI agent over HTTP: to any AG-UI client, with any provider behind it.
    Serve(serve::Serve),
    /// Makes a token for a user of the server.
    Token(token::Token),
    /// Prints the settings that are in force, and where each comes from.
    Config(config::ShowConfig),
    /// Lists the providers.
    Providers(providers::Providers),
}

impl Default for Command {
    fn default() -> Self {
        Self::Demo(Demo::default())
    }
}

impl Command {
    /// What is logged if nobody says what: a server's errors are for its log.
    pub(crate) fn log_by_default(&self) -> Option<&'static str> {
        matches!(self, Self::Serve(_)).then_some("warn")
    }

    pub(crate) fn run(self, sources: &Sources) -> Result<(), Failure> {
        match self {
            Self::Demo(demo) => wait(demo.run()),
            Self::Chat(chat) => wait(chat.run(sources)),
            Self::Decode(decode) => decode.run(),
            Self::Agui(agui) => agui.run(),
            Self::Bench(bench) => bench.run(),
            Self::Record(record) => wait(record.run(sources)),
            Self::Replay(replay) => replay.run(),
            Self::Statechart(statechart) => statechart.run(),
            Self::Serve(serve) => wait(serve.run(sources)),
            Self::Token(token) => token.run(),
            Self::Config(config) => config.run(sources),
            Self::Providers(providers) => providers.run(),
        }
    }
}

fn wait(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(work)
}
