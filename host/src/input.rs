//! Recorded streams, and how to ask for a provider.

use crate::failure::Failure;
use clap::Args;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use stepwell_core::provider::{self, Api, Provider};

/// Whose wire format a stream has.
#[derive(Args, Debug)]
pub(crate) struct Format {
    /// The provider that sends it; `stepwell providers` lists them.
    #[arg(long)]
    pub(crate) provider: String,
    /// Which of its APIs, if not its default one.
    #[arg(long)]
    pub(crate) api: Option<String>,
}

impl Format {
    pub(crate) fn find(&self) -> Result<(&'static Provider, &'static Api), Failure> {
        let provider = provider::find(&self.provider).map_err(Failure::usage)?;
        let api = provider.api(self.api.as_deref()).map_err(Failure::usage)?;
        Ok((provider, api))
    }
}

/// A recorded stream.
#[derive(Args, Debug)]
pub(crate) struct Recording {
    /// The file with the body of the response; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

impl Recording {
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        let path = &self.file;
        let mut bytes = Vec::new();
        if path == Path::new("-") {
            io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .map_err(|error| Failure::failed(format!("standard input: {error}")))?;
            return Ok(bytes);
        }
        let shown = path.display();
        let unusable =
            |reason: &dyn std::fmt::Display| Failure::usage(format!("{shown}: {reason}"));
        let mut file = File::open(path).map_err(|error| unusable(&error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(unusable(&"is a directory, not a recorded stream"));
        }
        file.read_to_end(&mut bytes)
            .map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
        Ok(bytes)
    }
}
