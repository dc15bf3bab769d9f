//! The commands, one in each file or folder.

mod agui;
mod bench;
mod chat;
mod completions;
mod config;
mod decode;
mod load;
mod providers;
mod record;
mod recording;
mod replay;
mod serve;
mod statechart;
mod stop_signal;
mod token;

use crate::settings::{GlobalSettings, Sources};
use clap::Subcommand;
use std::future::Future;
use stepwell_demo::Demo;
use stepwell_demo::Failure;

/// What commands have besides their own flags.
pub(crate) struct Invocation {
    pub(crate) global: GlobalSettings,
    pub(crate) sources: Sources,
    /// All commands with their flags.
    pub(crate) command_line: clap::Command,
}

/// The commands of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Two secret numbers, found by two tools: a whole turn with a scripted model, without key and network.
    Demo(Demo),
    /// Talks with a model that has a clock and a calculator; without a provider, with a scripted one.
    Chat(chat::Chat),
    /// Serves an AG-UI agent over HTTP: to any AG-UI client, with any provider behind it.
    Serve(serve::Serve),
    /// Lists the providers.
    Providers(providers::Providers),
    /// Prints the settings in force, and where each comes from.
    Config(config::ShowConfig),
    /// Makes a token for a user of the server.
    Token(token::Token),
    /// Prints a script with which a shell completes the commands and flags of this program.
    Completions(completions::Completions),
    /// Decodes a recorded stream, and prints what it says as JSON.
    Decode(decode::Decode),
    /// Tools for AG-UI streams: `agui check` says where a recorded one breaks the protocol.
    Agui(agui::Agui),
    /// Measures how fast a recorded stream becomes a conversation.
    Bench(bench::Bench),
    /// Puts a running server under load, and shows how much it carries and where it degrades.
    Load(load::Load),
    /// Records the journal of one turn, which can be replayed: every input with its time.
    Record(record::Record),
    /// Replays a journal, and reports the first input whose results differ.
    Replay(replay::Replay),
    /// Prints the states of a run and their transitions.
    Statechart(statechart::Statechart),
}

impl Default for Command {
    fn default() -> Self {
        Self::Demo(Demo::default())
    }
}

impl Command {
    /// Returns what is logged unless a setting says otherwise: a server's errors are for its log.
    pub(crate) fn default_log(&self) -> Option<&'static str> {
        matches!(self, Self::Serve(_)).then_some("warn")
    }

    pub(crate) fn run(self, invocation: Invocation) -> Result<(), Failure> {
        let Invocation {
            global,
            sources,
            command_line,
        } = invocation;
        match self {
            Self::Demo(demo) => wait(demo.run()),
            Self::Chat(chat) => wait(chat.run(&sources)),
            Self::Decode(decode) => decode.run(),
            Self::Agui(agui) => agui.run(),
            Self::Bench(bench) => bench.run(),
            Self::Load(load) => wait(load.run()),
            Self::Record(record) => wait(record.run(&sources)),
            Self::Replay(replay) => replay.run(),
            Self::Statechart(statechart) => statechart.run(),
            Self::Serve(serve) => wait(serve.run(&sources)),
            Self::Token(token) => token.run(),
            Self::Config(config) => config.run(&global, &sources),
            Self::Providers(providers) => providers.run(),
            Self::Completions(completions) => completions.run(command_line),
        }
    }
}

fn wait(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the long flags of a command.
    fn flags(command: &clap::Command, name: &str) -> Vec<String> {
        let command = command.find_subcommand(name).expect("a command");
        let flags = command.get_arguments().filter_map(clap::Arg::get_long);
        flags.map(str::to_owned).collect()
    }

    #[test]
    fn config_takes_each_flag_of_chat_and_serve() {
        let command = Command::augment_subcommands(clap::Command::new("stepwell"));
        let taken = flags(&command, "config");
        for name in ["chat", "serve"] {
            let mut missing = flags(&command, name);
            missing.retain(|flag| !taken.contains(flag));
            assert!(missing.is_empty(), "{name}: {missing:?}");
        }
    }
}
