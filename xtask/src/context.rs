//! Where things are.

use crate::{faults::Faulty, once::Once, workspace::TestProgram};
use anyhow::Context as _;
use cargo_metadata::{Metadata, MetadataCommand};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// What every suite may ask for.
pub(crate) struct Context {
    /// The repository's root.
    pub(crate) root: PathBuf,
    /// Cargo's target directory.
    pub(crate) target: PathBuf,
    /// A skip must be an allowed one.
    pub(crate) ci: bool,
    /// Suites are run, which share the workspace's build.
    pub(crate) in_suites: bool,
    /// The workspace's own packages.
    pub(crate) workspace: Metadata,
    /// What is made once in a run.
    pub(crate) made: Made,
}

/// What several suites take, and the first of them makes.
#[derive(Default)]
pub(crate) struct Made {
    /// The program that compiles in the one build.
    pub(crate) linter: Once<PathBuf>,
    /// See [`Context::build`].
    pub(crate) workspace: Once<Vec<TestProgram>>,
    /// The model checker and the interleavings with faults in them.
    pub(crate) faulty: Once<Faulty>,
    /// The generated sources of each language.
    pub(crate) python: Once<PathBuf>,
    pub(crate) kotlin: Once<PathBuf>,
    pub(crate) swift: Once<PathBuf>,
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
        let workspace = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .no_deps()
            .exec()
            .context("cannot read the workspace; does Cargo.toml parse?")?;
        Ok(Self {
            target: workspace.target_directory.clone().into_std_path_buf(),
            root,
            ci: env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false")),
            in_suites: false,
            workspace,
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

    /// Where cargo puts what the dev profile builds.
    pub(crate) fn debug(&self) -> PathBuf {
        self.target.join("debug")
    }

    /// The version every package of the project has.
    pub(crate) fn version(&self) -> anyhow::Result<String> {
        let mut packages = self.workspace.packages.iter();
        let core = packages.find(|package| package.name == "stepwell-core");
        let core = core.context("the workspace has no stepwell-core")?;
        Ok(core.version.to_string())
    }
}
