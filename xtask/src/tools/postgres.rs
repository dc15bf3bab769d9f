//! A PostgreSQL server of a suite's own, from Debian's package, in a directory that goes with it.

use super::{Unavailable, apt};
use crate::{log::Log, process};
use anyhow::Context as _;
use std::{fs, io::Write as _, path::PathBuf, process::Command};
use tempfile::TempDir;

/// The variable with the server's address, for the stores' tests.
pub(crate) const VARIABLE: &str = "STEPWELL_POSTGRES";

/// The variable with the program that stops and starts the server, `sh PROGRAM stop
/// start
/// sql STATEMENT`.
pub(crate) const CONTROL: &str = "STEPWELL_POSTGRES_CONTROL";

/// The user of Debian's package: root may not run the server.
const USER: &str = "postgres";

/// A server that runs until it is dropped. It listens on a socket in its directory alone.
#[derive(Debug)]
pub(crate) struct Postgres {
    programs: PathBuf,
    directory: TempDir,
}

impl Postgres {
    /// Makes a server and starts it.
    pub(crate) fn start(log: &mut Log) -> anyhow::Result<Self> {
        let is_there = || programs().is_some();
        apt::ensure_that(log, is_there, "a PostgreSQL server", &["postgresql"])?;
        let server = Self {
            programs: programs().context("the PostgreSQL server is gone again")?,
            directory: tempfile::Builder::new().prefix("postgres-").tempdir()?,
        };
        if apt::is_root() {
            log.run(
                process::command("chown")
                    .arg(USER)
                    .arg(server.directory.path()),
            )?;
        }
        let mut initdb = server.program("initdb");
        initdb
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8"])
            .args(["--locale=C", "--no-sync", "--pgdata=data"]);
        log.run(&mut initdb)?;
        let conf = server.directory.path().join("data/postgresql.conf");
        let mut settings = fs::OpenOptions::new().append(true).open(conf)?;
        // Durability against a loss of power is not needed: the tests kill programs, not machines.
        writeln!(
            settings,
            "listen_addresses = ''\nfsync = off\nmax_connections = 200\nunix_socket_directories = '{}'",
            server.directory.path().display()
        )?;
        fs::write(server.control(), server.script())?;
        let started = log.run(process::command("sh").arg(server.control()).arg("start"));
        started.map_err(|error| {
            let said = fs::read_to_string(server.directory.path().join("log")).unwrap_or_default();
            Unavailable(format!("PostgreSQL does not start ({error}): {said}"))
        })?;
        Ok(server)
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        let directory = self.directory.path().display();
        format!("postgres://postgres@localhost/postgres?host={directory}")
    }

    /// The program that stops it and starts it again.
    pub(crate) fn control(&self) -> PathBuf {
        self.directory.path().join("control")
    }

    fn script(&self) -> String {
        let word = |name| {
            let command = self.program(name);
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            shell_words::join(words.map(|word| word.to_string_lossy()))
        };
        let (pg_ctl, psql) = (word("pg_ctl"), word("psql"));
        let directory = self.directory.path().display();
        format!(
            "set -e\ncd '{directory}'\ncase $1 in\n\
             start) {pg_ctl} --wait --silent --pgdata data --log log start ;;\n\
             stop) {pg_ctl} --wait --silent --pgdata data --mode immediate stop ;;\n\
             sql) for sql in \"$2\" 'SELECT pg_reload_conf()' 'SELECT 1'; do\n\
             {psql} --quiet --no-psqlrc --host '{directory}' --username postgres --command \"$sql\" >/dev/null\n\
             done ;;\nesac\n"
        )
    }

    fn program(&self, name: &str) -> Command {
        let mut command = process::command(self.programs.join(name));
        if apt::is_root() {
            command = process::command("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
            command.arg(self.programs.join(name));
        }
        // The user of the server may not enter the folder where this program was started.
        command.current_dir(self.directory.path());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The test is over either way.
        let _ = process::command("sh")
            .arg(self.control())
            .arg("stop")
            .status();
    }
}

/// Returns the folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let numbered = versions.filter_map(|it| {
        let number: u32 = it.file_name().to_str()?.parse().ok()?;
        Some((number, it.path().join("bin")))
    });
    let whole = numbered.filter(|(_, programs)| programs.join("postgres").exists());
    whole.max().map(|(_, programs)| programs)
}
