//! Where things are.

use crate::{faults::Faulty, once::Once, workspace::TestProgram};
use anyhow::Context as _;
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Has the suites of other languages do all that a test run takes a share of; their tests read it too.
pub(crate) const THOROUGH: &str = "STEPWELL_THOROUGH";

/// The surroundings of every suite.
pub(crate) struct Context {
    /// The repository's root.
    pub(crate) root: PathBuf,
    /// Cargo's target directory.
    pub(crate) target: PathBuf,
    /// Suites are run, which share the workspace's build.
    pub(crate) in_suites: bool,
    /// The results that are made once in a run.
    pub(crate) made: Made,
}

/// The results that several suites need, each made by the first of them.
#[derive(Default)]
pub(crate) struct Made {
    /// See [`Context::build`].
    pub(crate) workspace: Once<Vec<TestProgram>>,
    /// The model checker and the interleavings with faults in them.
    pub(crate) faulty: Once<Faulty>,
    /// The generated sources of each [`Language`](crate::bindings::Language).
    pub(crate) bindings: [Once<PathBuf>; 5],
    /// Kotlin's sources and tests, compiled where Maven puts them.
    pub(crate) kotlin_classes: Once<()>,
    /// The program that installs into Python environments.
    pub(crate) uv: Once<()>,
    /// The npm package.
    pub(crate) web: Once<PathBuf>,
}

impl Context {
    /// Looks around from where this program was built.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask lies in no repository")?
            .to_owned();
        let target = env::var_os("CARGO_TARGET_DIR");
        Ok(Self {
            target: target.map_or_else(|| root.join("target"), PathBuf::from),
            root,
            in_suites: false,
            made: Made::default(),
        })
    }

    /// The place for logs, virtual environments and whatever else a suite leaves.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.target.join("xtask")
    }

    /// An empty folder in it.
    pub(crate) fn emptied(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.scratch().join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Returns the folder in which cargo puts the dev profile's build.
    pub(crate) fn debug(&self) -> PathBuf {
        self.target.join("debug")
    }

    /// The version every package of the project has.
    pub(crate) fn version(&self) -> anyhow::Result<String> {
        Ok(env!("CARGO_PKG_VERSION").to_owned())
    }
}
