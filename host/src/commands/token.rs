use crate::access::{NewToken, NoToken};
use clap::Args;
use std::io::{self, Write};
use stepwell_demo::Failure;

/// Makes a token for a user of `serve`: `stepwell token alice >> tokens`, then `stepwell serve --tokens tokens`.
///
/// The line for the file of tokens is printed to standard output. It has only the token's hash. The token itself is
/// printed to standard error, once, since it is stored nowhere. A second token for the same name is another token of the
/// same user.
#[derive(Args, Debug)]
pub(crate) struct Token {
    /// The user's name, without spaces.
    name: String,
}

impl Token {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let made = NewToken::of(&self.name).map_err(|error| match error {
            NoToken::Random => Failure::failed(error),
            _ => Failure::usage(error),
        })?;
        let NewToken { token, line } = made;
        writeln!(io::stdout(), "{line}")?;
        writeln!(
            io::stderr(),
            "The token of {}, which is shown this once:\n{token}",
            self.name
        )?;
        Ok(())
    }
}
