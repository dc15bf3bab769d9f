use clap::{Args, ValueEnum};
use std::io::{self, Write};
use stepwell_core::run;
use stepwell_demo::Failure;

/// Prints the states of a run and their transitions, from the table that the compiler checks.
#[derive(Args, Debug)]
pub(crate) struct Statechart {
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// A diagram in Mermaid.
    #[default]
    Mermaid,
    /// Data: the states, the initial and the final ones, and the transitions.
    Json,
}

impl Statechart {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match self.format {
            Format::Mermaid => write!(out, "{}", run::statechart_mermaid())?,
            Format::Json => {
                serde_json::to_writer_pretty(&mut out, &run::statechart())
                    .map_err(io::Error::from)?;
                writeln!(out)?;
            }
        }
        Ok(())
    }
}
