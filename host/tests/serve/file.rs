use std::path::PathBuf;

/// A file for a store, gone when the test is over.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("stepwell-serve-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.join("turns.db")
    }

    pub(crate) fn store(&self) -> String {
        format!("sqlite:{}", self.path().display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
