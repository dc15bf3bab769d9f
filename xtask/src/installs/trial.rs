//! A new user's home folder, what they do there step by step, and what each step takes.

use super::Install;
use crate::{
    context::Context,
    log::Log,
    pages::{
        self,
        steps::{self, Step},
    },
    process,
};
use anyhow::{Context as _, ensure};
use std::{
    env,
    ffi::OsString,
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// What a machine's programs are found by, and by what it trusts and reaches the network. Nothing else of the environment is
/// seen.
const KEPT: &[&str] = &[
    "PATH",
    "LANG",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "PYENV_ROOT",
    "JAVA_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// How many steps there were, and what they took by the clock.
#[derive(Clone, Copy, Default)]
pub(super) struct Times {
    /// Lines typed and files written.
    pub(super) steps: u32,
    pub(super) installing: Duration,
    pub(super) building: Duration,
    /// From the start of the program to the first byte that it shows.
    pub(super) first_token: Duration,
}

impl Times {
    pub(super) const HEADINGS: &str = "install  steps  install s  build s  first token s  line";

    pub(super) fn row(&self, install: &Install) -> String {
        let Install { name, line, .. } = install;
        let seconds = |time: Duration| time.as_secs_f64();
        format!(
            "{name:<7} {:>6} {:>10.1} {:>8.1} {:>14.3}  {line}",
            self.steps,
            seconds(self.installing),
            seconds(self.building),
            seconds(self.first_token)
        )
    }
}

/// One user's try.
pub(super) struct Trial<'a> {
    pub(super) context: &'a Context,
    pub(super) log: &'a mut Log,
    line: &'static str,
    page: &'static str,
    folder: PathBuf,
    home: PathBuf,
    project: PathBuf,
    environment: Vec<(OsString, OsString)>,
    times: Times,
}

impl<'a> Trial<'a> {
    /// Begins with an empty home and an empty project.
    pub(super) fn new(
        context: &'a Context,
        log: &'a mut Log,
        install: &Install,
    ) -> anyhow::Result<Self> {
        // Not in the repository: package managers look for a workspace in the folders above. The same folder in each run,
        // by which cargo knows what it has built.
        let mut hasher = DefaultHasher::new();
        context.root.hash(&mut hasher);
        let folder = env::temp_dir()
            .join(format!("stepwell-{:x}", hasher.finish()))
            .join(install.name);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        let (home, project) = (folder.join("home"), folder.join("project"));
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&project)?;
        let kept = KEPT
            .iter()
            .filter_map(|name| Some((name, env::var_os(name)?)));
        let mut environment: Vec<_> = kept.map(|(name, value)| (name.into(), value)).collect();
        // rustup has its toolchains in the home folder otherwise.
        if let (None, Some(home)) = (env::var_os("RUSTUP_HOME"), env::home_dir()) {
            environment.push(("RUSTUP_HOME".into(), home.join(".rustup").into()));
        }
        environment.push(("HOME".into(), home.clone().into()));
        Ok(Self {
            context,
            log,
            line: install.line,
            page: install.page,
            folder,
            home,
            project,
            environment,
            times: Times::default(),
        })
    }

    /// The end of one that went well: nothing stays of it.
    pub(super) fn end(self) -> anyhow::Result<Times> {
        fs::remove_dir_all(&self.folder)
            .with_context(|| format!("cannot remove {}", self.folder.display()))?;
        Ok(self.times)
    }

    /// What the documentation says to do.
    pub(super) fn line(&self) -> &'static str {
        self.line
    }

    /// Where settings of the user's go.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Where the lines are typed.
    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    /// What the page tells its reader to do where the package is in this registry.
    pub(super) fn steps(&self, registry: &str) -> anyhow::Result<Vec<Step>> {
        let page = pages::read(self.context, Path::new(self.page))?;
        Ok(steps::of_page(&page, &[registry]))
    }

    /// A step before the first program: a file, a folder that is entered, or a line that gets something.
    pub(super) fn take(&mut self, step: &Step) -> anyhow::Result<()> {
        match (step, step.command()) {
            (Step::File { name, text }, _) => self.write(name, text),
            (_, Some(command)) => match command.strip_prefix("cd ") {
                Some(folder) => {
                    self.times.steps += 1;
                    self.project.push(folder);
                    Ok(())
                }
                None => self.install(command),
            },
            (_, None) => Ok(()),
        }
    }

    /// The following lines see this variable.
    pub(super) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.environment.push((name.into(), value.into()));
    }

    /// A file of the user's own is written.
    pub(super) fn write(&mut self, path: &str, text: &str) -> anyhow::Result<()> {
        self.times.steps += 1;
        let path = self.project.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// A file of the examples becomes the user's own.
    pub(super) fn paste(&mut self, example: &str, path: &str) -> anyhow::Result<()> {
        let text = fs::read_to_string(self.context.root.join("examples").join(example))
            .with_context(|| format!("cannot read examples/{example}"))?;
        self.write(path, &text)
    }

    /// A line that gets something.
    pub(super) fn install(&mut self, line: &str) -> anyhow::Result<()> {
        let mut command = self.shell(line);
        self.install_by(&mut command, line)
    }

    /// The same, by a command that is made elsewhere.
    pub(super) fn install_by(&mut self, command: &mut Command, line: &str) -> anyhow::Result<()> {
        let took = self.step(command, line)?;
        self.times.installing += took;
        Ok(())
    }

    /// A line that compiles.
    pub(super) fn build(&mut self, line: &str) -> anyhow::Result<()> {
        let mut command = self.shell(line);
        self.build_by(&mut command, line)
    }

    /// The same, by a command that is made elsewhere.
    pub(super) fn build_by(&mut self, command: &mut Command, line: &str) -> anyhow::Result<()> {
        let took = self.step(command, line)?;
        self.times.building += took;
        Ok(())
    }

    /// The first program, which is to show the answer.
    pub(super) fn run(&mut self, line: &str) -> anyhow::Result<()> {
        let mut command = self.shell(line);
        self.first_program(&mut command, line)
    }

    /// The same, by a command that is made elsewhere.
    pub(super) fn first_program(
        &mut self,
        command: &mut Command,
        line: &str,
    ) -> anyhow::Result<()> {
        self.times.steps += 1;
        self.log.write(&format!("$ {line}"))?;
        let started = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{line}`"))?;
        let mut stdout = child.stdout.take().context("no pipe to the program")?;
        let mut said = vec![0; 1];
        let count = stdout.read(&mut said)?;
        said.truncate(count);
        self.times.first_token = started.elapsed();
        stdout.read_to_end(&mut said)?;
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&said);
        self.log.write(&said)?;
        self.log.write(&String::from_utf8_lossy(&output.stderr))?;
        ensure!(
            output.status.success() && said.contains(super::ANSWER),
            "`{line}` ended with {} and said {said:?}",
            output.status
        );
        Ok(())
    }

    fn step(&mut self, command: &mut Command, line: &str) -> anyhow::Result<Duration> {
        self.times.steps += 1;
        let started = Instant::now();
        self.log
            .set_up(command)
            .with_context(|| format!("`{line}` failed"))?;
        Ok(started.elapsed())
    }

    fn shell(&self, line: &str) -> Command {
        let mut command = process::command("sh");
        command
            .args(["-e", "-c", line])
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.project);
        command
    }
}
