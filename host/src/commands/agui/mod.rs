mod check;
mod checker;
mod encoding;
mod hints;
mod no_stream;

pub(super) use encoding::Encoding;

use check::Check;
use clap::{Args, Subcommand};
use stepwell_demo::Failure;

/// Tools for AG-UI streams.
#[derive(Args, Debug)]
pub(crate) struct Agui {
    #[command(subcommand)]
    command: AguiCommand,
}

#[derive(Debug, Subcommand)]
enum AguiCommand {
    /// Says where a recorded stream breaks the protocol.
    Check(Check),
}

impl Agui {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            AguiCommand::Check(check) => check.run(),
        }
    }
}
