use clap::{Args, Command};
use clap_complete::Shell;
use std::io::{self, Write};
use stepwell_demo::Failure;

/// Prints a script with which a shell completes the commands and flags of this program.
#[derive(Args, Debug)]
#[command(after_help = WHERE)]
pub(crate) struct Completions {
    /// The shell that runs the script.
    #[arg(value_enum)]
    shell: Shell,
}

const WHERE: &str = "\
Where each shell looks for it:
  bash         stepwell completions bash > ~/.local/share/bash-completion/completions/stepwell
  zsh          stepwell completions zsh > \"${fpath[1]}/_stepwell\"
  fish         stepwell completions fish > ~/.config/fish/completions/stepwell.fish
  powershell   stepwell completions powershell >> $PROFILE
  elvish       stepwell completions elvish >> ~/.config/elvish/rc.elv";

impl Completions {
    pub(crate) fn run(&self, mut command_line: Command) -> Result<(), Failure> {
        // Into memory first: writing to a closed pipe would panic.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command_line, "stepwell", &mut script);
        Ok(io::stdout().write_all(&script)?)
    }
}
