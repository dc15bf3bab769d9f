use super::Suite;
use crate::{
    context::Context,
    log::Log,
    process,
    tools::{npm, venv::Venv},
};
use anyhow::{Context as _, ensure};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

pub(super) const SUITE: Suite = Suite {
    name: "ag-ui-server",
    about: "the official AG-UI client in four versions and its Python types in two, ag-ui-validate and an OpenAPI validator against `stepwell serve`",
    run,
};

/// The rule of ag-ui-validate that a resumed run breaks by design: it answers a call that the run before began, as the
/// protocol has it.
const RESUMED_ANSWERS: &str = "AGUI207";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let project = context.root.join("tests/ag-ui-client");
    npm::ensure(log, &project)?;
    let requirements = project.join("requirements.txt");
    let venv = Venv::ensure(context, log, "venv-ag-ui", &requirements)?;
    let requirements = project.join("requirements-0.1.18.txt");
    let before_1_0 = Venv::ensure(context, log, "venv-ag-ui-0.1.18", &requirements)?;
    let streams = context.scratch().join("ag-ui-streams");
    if streams.exists() {
        fs::remove_dir_all(&streams)?;
    }
    fs::create_dir_all(&streams)?;
    let program = context.program(log, "stepwell")?;
    let server = Server::start(&program)?;

    let played = log.output(
        process::command("node")
            .arg("scenarios.mjs")
            .arg(&server.url)
            .arg(&streams)
            .current_dir(&project),
    )?;
    let table = String::from_utf8_lossy(&played.stdout);
    for line in table.lines() {
        log.say(line)?;
    }
    ensure!(
        played.status.success(),
        "a scenario of the official client failed"
    );

    log.run(
        process::command("node")
            .arg("versions.mjs")
            .arg(&server.url)
            .current_dir(&project),
    )?;
    for types in [&before_1_0, &venv] {
        log.run(
            types
                .python()
                .arg(project.join("python_types.py"))
                .arg(&server.url),
        )?;
    }
    log.run(venv.program("ag-ui-validate").args(STRICT).arg(&server.url))?;
    let streams = files(&streams)?;
    ensure!(
        streams.len() >= 20,
        "only {} streams were recorded",
        streams.len()
    );
    for stream in &streams {
        let mut validate = venv.program("ag-ui-validate");
        validate.args(STRICT);
        if stream.to_string_lossy().ends_with(".resumed.sse") {
            validate.args(["--off", RESUMED_ANSWERS]);
        }
        log.run(validate.arg(stream))?;
    }
    log.say(&format!(
        "ag-ui-validate: the live server and {} recorded streams are well",
        streams.len()
    ))?;
    log.run(
        venv.python()
            .args(["-m", "openapi_spec_validator"])
            .arg(context.root.join("host/src/serve/openapi.json")),
    )
}

const STRICT: [&str; 2] = ["--max-warnings", "0"];

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.sort();
    Ok(files)
}

/// The program, serving. It ends when this is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) url: String,
}

impl Server {
    pub(super) fn start(program: &Path) -> anyhow::Result<Self> {
        let mut command = process::command(program);
        // One run at once: a run that is not let go of shows.
        command.args(["serve", "--listen", "127.0.0.1:0", "--max-runs", "1"]);
        Self::of(&mut command)
    }

    /// A program that serves, and whose first line has its address.
    pub(super) fn of(command: &mut Command) -> anyhow::Result<Self> {
        command.env_remove("STEPWELL_SERVE_TOKEN");
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("no pipe to the server")?;
        let mut server = Self {
            child,
            url: String::new(),
        };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"));
        let url = url.with_context(|| format!("the server says `{line}`"))?;
        let url = url.trim_end_matches(',');
        server.url = url.to_owned();
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
