//! Files of a test's own.
#![allow(dead_code)] // each program of tests takes what it needs

use std::path::PathBuf;
use tempfile::TempDir;

/// A file in a folder that is removed with it.
pub(crate) struct File {
    folder: TempDir,
    path: String,
}

impl File {
    /// The file of this name, which is not there yet.
    pub(crate) fn new(name: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join(name);
        let path = path.to_str().expect("a plain name").to_owned();
        Self { folder, path }
    }

    /// A file of this name with this text.
    pub(crate) fn with(name: &str, text: impl AsRef<[u8]>) -> Self {
        let file = Self::new(name);
        std::fs::write(&file.path, text).expect("it is written");
        file
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.path
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.as_str().into()
    }

    /// The store in this file, as a flag names it.
    pub(crate) fn store(&self) -> String {
        format!("sqlite:{}", self.path)
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.path).expect("it was written")
    }
}
