//! Where things are.

use crate::{faults::Faulty, once::Once, workspace::TestProgram};
use anyhow::Context as _;
use cargo_metadata::{Metadata, MetadataCommand};
use std::{
    env,
    path::{Path, PathBuf},
};

/// What every suite may ask for.
pub(crate) struct Context {
    /// The repository's root.
    pub(crate) root: PathBuf,
    /// Cargo's target directory.
    pub(crate) target: PathBuf,
    /// The design, specs and fixtures that lie beside the repository; `STEPWELL_SHARED` names another place.
    pub(crate) shared: PathBuf,
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
    pub(crate) uv: Once<PathBuf>,
    /// The npm package.
    pub(crate) web: Once<PathBuf>,
}

impl Context {
    /// Looks around from where this program was built.
    pub(crate) fn load(ci: bool) -> anyhow::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask lies in no repository")?
            .to_owned();
        let workspace = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .no_deps()
            .exec()
            .context("cannot read the workspace; does Cargo.toml parse?")?;
        let shared =
            env::var_os("STEPWELL_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
        Ok(Self {
            target: workspace.target_directory.clone().into_std_path_buf(),
            root,
            shared,
            ci,
            in_suites: false,
            workspace,
            made: Made::default(),
        })
    }

    /// The place for logs, virtual environments and whatever else a suite leaves.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.target.join("xtask")
    }

    /// Where cargo puts what the dev profile builds.
    pub(crate) fn debug(&self) -> PathBuf {
        self.target.join("debug")
    }

    /// The version every package of the project has.
    pub(crate) fn version(&self) -> anyhow::Result<String> {
        let core = self
            .workspace
            .packages
            .iter()
            .find(|package| package.name == "stepwell-core");
        Ok(core
            .context("the workspace has no stepwell-core")?
            .version
            .to_string())
    }
}

/// Whether `CI` is set to anything that does not say no.
pub(crate) fn continuous_integration() -> bool {
    env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}
