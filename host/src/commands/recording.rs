use clap::Args;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use stepwell_demo::Failure;

/// A recorded stream.
#[derive(Args, Debug)]
pub(crate) struct Recording {
    /// The file with the body of the response; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

impl Recording {
    /// Returns the name for error messages.
    pub(crate) fn name(&self) -> String {
        if self.file == Path::new("-") {
            "standard input".to_owned()
        } else {
            self.file.display().to_string()
        }
    }

    /// Reads the whole body.
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
        let unusable = |reason: &dyn Display| Failure::usage(format!("{shown}: {reason}"));
        let mut file = File::open(path).map_err(|error| unusable(&error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(unusable(&"is a directory, not a recorded stream"));
        }
        file.read_to_end(&mut bytes)
            .map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
        Ok(bytes)
    }
}
