//! A PostgreSQL server of a suite's own, from Debian's package, in a directory that goes with it.

use super::{Unavailable, apt};
use crate::{log::Log, process};
use anyhow::Context as _;
use std::{
    env, fs,
    io::{self, Write as _},
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

/// Where the stores' tests find the server's address.
pub(crate) const VARIABLE: &str = "STEPWELL_POSTGRES";

/// Where they find the program that stops and starts it, `sh PROGRAM stop|start|sql STATEMENT`.
pub(crate) const CONTROL: &str = "STEPWELL_POSTGRES_CONTROL";

/// The user of Debian's package: root may not run the server.
const USER: &str = "postgres";

/// A server that runs until it is dropped. It listens on a socket in its directory alone.
#[derive(Debug)]
pub(crate) struct Postgres {
    programs: PathBuf,
    directory: PathBuf,
}

impl Postgres {
    /// Makes a server and starts it.
    pub(crate) fn start(log: &mut Log) -> anyhow::Result<Self> {
        let is_there = || programs().is_some();
        apt::ensure_that(log, is_there, "a PostgreSQL server", &["postgresql"])?;
        let server = Self {
            programs: programs().context("the PostgreSQL server is gone again")?,
            directory: new_directory()?,
        };
        if apt::is_root() {
            log.run(process::command("chown").arg(USER).arg(&server.directory))?;
        }
        let mut initdb = server.program("initdb");
        initdb
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8"])
            .args(["--locale=C", "--no-sync", "--pgdata=data"]);
        log.run(&mut initdb)?;
        let conf = server.directory.join("data/postgresql.conf");
        let mut settings = fs::OpenOptions::new().append(true).open(conf)?;
        // What is lost with the machine may be lost: the tests kill programs, not machines.
        writeln!(
            settings,
            "listen_addresses = ''\nfsync = off\nmax_connections = 200\nunix_socket_directories = '{}'",
            server.directory.display()
        )?;
        fs::write(server.control(), server.script())?;
        let started = log.run(process::command("sh").arg(server.control()).arg("start"));
        started.map_err(|error| {
            let said = fs::read_to_string(server.directory.join("log")).unwrap_or_default();
            Unavailable(format!("PostgreSQL does not start ({error}): {said}"))
        })?;
        Ok(server)
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        let directory = self.directory.display();
        format!("postgres://postgres@localhost/postgres?host={directory}")
    }

    /// The program that stops it and starts it again.
    pub(crate) fn control(&self) -> PathBuf {
        self.directory.join("control")
    }

    fn script(&self) -> String {
        let word = |command: &Command| {
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            let quoted = words.map(|word| format!("'{}'", word.to_string_lossy()));
            quoted.collect::<Vec<_>>().join(" ")
        };
        let (pg_ctl, psql) = (word(&self.program("pg_ctl")), word(&self.program("psql")));
        let directory = self.directory.display();
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
        let program = self.programs.join(name);
        let mut command = process::command("setpriv");
        if apt::is_root() {
            command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
            command.arg(program);
        } else {
            command = process::command(program);
        }
        // It may not enter where this program was started.
        command.current_dir(&self.directory);
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
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A directory that no other server of this program has: suites run side by side.
fn new_directory() -> io::Result<PathBuf> {
    static SERVERS: AtomicU32 = AtomicU32::new(0);
    let number = SERVERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("stepwell-postgres-{}-{number}", std::process::id());
    let directory = env::temp_dir().join(name);
    fs::create_dir(&directory)?;
    Ok(directory)
}

/// Where the newest server's programs are.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let numbered = versions.filter_map(|it| {
        let number: u32 = it.file_name().to_str()?.parse().ok()?;
        Some((number, it.path().join("bin")))
    });
    let whole = numbered.filter(|(_, programs)| programs.join("postgres").exists());
    whole.max().map(|(_, programs)| programs)
}

#[cfg(test)]
mod tests {
    use super::new_directory;
    use std::fs;

    #[test]
    fn two_servers_of_one_program_have_a_directory_each() -> std::io::Result<()> {
        let (first, second) = (new_directory()?, new_directory()?);
        fs::remove_dir(&first)?;
        fs::remove_dir(&second)?;
        assert_ne!(first, second);
        Ok(())
    }
}
