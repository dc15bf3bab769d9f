//! The commands of a page, run in their order as a new user would: in an empty folder, with an empty home.

use super::{Page, page::Block};
use crate::{
    log::Log,
    process::{self, Background},
};
use anyhow::{Context as _, ensure};
use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// One thing that a page tells its reader to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// Write a file.
    File { name: String, text: String },
    /// Type a command.
    Command(Typed),
}

impl Step {
    /// What is typed, if it is a command.
    pub(crate) fn command(&self) -> Option<&str> {
        match self {
            Self::File { .. } => None,
            Self::Command(typed) => Some(&typed.command),
        }
    }
}

/// A command, and what the page shows of what it prints.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Typed {
    command: String,
    shown: Vec<String>,
    /// See [`Marks`](super::marks::Marks).
    folder: Option<String>,
    variables: Vec<(String, String)>,
    background_until: Option<String>,
}

/// What a page tells its reader to do, if packages are installed from these registries.
pub(crate) fn of_page(page: &Page, registries: &[&str]) -> Vec<Step> {
    let is_there = |name: &Option<String>| {
        let name = name.as_deref();
        name.map(|name| registries.contains(&name))
    };
    let mut steps = Vec::new();
    for block in &page.blocks {
        let marks = &block.marks;
        let is_left_out = marks.not_run.is_some()
            || is_there(&marks.with) == Some(false)
            || is_there(&marks.unless) == Some(true);
        if is_left_out {
            continue;
        }
        if let Some(name) = &marks.file {
            let (name, text) = (name.clone(), block.text.clone());
            steps.push(Step::File { name, text });
        } else if block.language == "console" {
            steps.extend(commands(block).into_iter().map(Step::Command));
        }
    }
    steps
}

/// The lines behind `$ `, each with the lines that follow it.
fn commands(block: &Block) -> Vec<Typed> {
    let mut commands: Vec<Typed> = Vec::new();
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push(Typed {
                command: command.to_owned(),
                folder: block.marks.folder.clone(),
                variables: block.marks.variables.clone(),
                ..Typed::default()
            }),
            (None, Some(last)) if last.command.ends_with('\\') => {
                last.command.push('\n');
                last.command.push_str(line);
            }
            (None, Some(last)) if !line.trim().is_empty() => last.shown.push(line.to_owned()),
            _ => {}
        }
    }
    if let Some(last) = commands.last_mut() {
        last.background_until
            .clone_from(&block.marks.background_until);
    }
    commands
}

/// Variables of the machine that say where its tools are, and by which way they load what they need.
const VARIABLES: &[&str] = &[
    "ALL_PROXY",
    "CARGO_BUILD_JOBS",
    "CARGO_HOME",
    "CARGO_INCREMENTAL",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "JAVA_HOME",
    "LANG",
    "NO_PROXY",
    "PATH",
    "RUSTUP_HOME",
    "SSL_CERT_FILE",
];
const BEGINNINGS: &[&str] = &["CARGO_PROFILE_", "PIP_", "npm_config_", "MAVEN_"];

/// Files of the home folder that say the same.
const FILES: &[&str] = &[
    ".config/pip/pip.conf",
    ".m2/settings.xml",
    ".npmrc",
    ".pip/pip.conf",
];

/// Ports that the pages name, which a machine may need for something else: what listens here takes any free one.
const PORTS: &[&str] = &["8000", "4000"];

/// Where a page's steps are done.
pub(crate) struct Place {
    /// Where the page begins; the checkout is in `stepwell`.
    folder: PathBuf,
    home: PathBuf,
    /// Where the last command left its user.
    now: PathBuf,
    /// Programs that are there already, by the beginning of the command that would build them.
    built: Vec<(&'static str, String)>,
    /// The ports that were taken, each in the place of one of the pages.
    ports: Vec<(&'static str, String)>,
    background: Vec<Background>,
}

/// A step that was done.
pub(crate) struct Done {
    pub(crate) command: String,
    pub(crate) took: Duration,
}

impl Place {
    /// An empty folder of this process, for places, where nothing above says anything to the tools of a language.
    pub(crate) fn outside(name: &str) -> anyhow::Result<PathBuf> {
        let name = format!("stepwell-first-steps-{}-{name}", std::process::id());
        let folder = env::temp_dir().join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// An empty folder, with the checkout in it.
    pub(crate) fn new(folder: &Path, checkout: &Path) -> anyhow::Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let (work, home) = (folder.join("work"), folder.join("home"));
        fs::create_dir_all(&work)?;
        fs::create_dir_all(&home)?;
        #[cfg(unix)]
        std::os::unix::fs::symlink(checkout, work.join("stepwell"))?;
        #[cfg(not(unix))]
        anyhow::bail!("there is no link to {} here", checkout.display());
        if let Some(real) = env::home_dir() {
            for name in FILES {
                let (from, to) = (real.join(name), home.join(name));
                if let (true, Some(parent)) = (from.is_file(), to.parent()) {
                    fs::create_dir_all(parent)?;
                    fs::copy(from, to)?;
                }
            }
        }
        Ok(Self {
            now: work.clone(),
            folder: work,
            home,
            built: Vec::new(),
            ports: Vec::new(),
            background: Vec::new(),
        })
    }

    /// A program in the place of what builds and runs it. Of several beginnings the first one is taken.
    pub(crate) fn with_built(mut self, command: &'static str, program: &Path) -> Self {
        self.built.push((command, program.display().to_string()));
        self
    }

    /// Does one step: a command that fails, or does not print what the page shows, is an error.
    pub(crate) fn take(&mut self, log: &mut Log, step: &Step) -> anyhow::Result<Option<Done>> {
        match step {
            Step::File { name, text } => {
                let file = self.now.join(name);
                if let Some(parent) = file.parent() {
                    fs::create_dir_all(parent)?;
                }
                fs::write(&file, text)
                    .with_context(|| format!("cannot write {}", file.display()))?;
                log.write(&format!("# wrote {name}"))?;
                Ok(None)
            }
            Step::Command(typed) => {
                let started = Instant::now();
                self.run(log, typed)
                    .with_context(|| format!("`{}`", typed.command))?;
                Ok(Some(Done {
                    command: typed.command.clone(),
                    took: started.elapsed(),
                }))
            }
        }
    }

    fn run(&mut self, log: &mut Log, typed: &Typed) -> anyhow::Result<()> {
        let folder = match &typed.folder {
            Some(name) => self.folder.join(name),
            None => self.now.clone(),
        };
        let left = self.home.join(".left-in");
        let command = self.with_programs(&typed.command);
        if let Some(sign) = &typed.background_until {
            // A chosen port is one: what listens on any may have other addresses.
            let chosen = free_port()?.to_string();
            let command = with_ports(&command, PORTS.iter().map(|port| (*port, &*chosen)));
            log.write(&format!("$ {command}"))?;
            let mut shell = self.shell(&format!("exec {command}"), &folder, typed);
            let (running, printed) = Background::start(&mut shell, sign)?;
            log.write(&printed)?;
            self.background.push(running);
            self.ports.extend(taken(typed, &printed));
            return self.shows(typed, &printed);
        }
        let command = self.with_taken_ports(&command);
        log.write(&format!("$ {command}"))?;
        let script = format!(
            "{command}\nstatus=$?\npwd > '{}'\nexit $status",
            left.display()
        );
        let output = log.unnamed_output(&mut self.shell(&script, &folder, typed))?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        log.write(&printed)?;
        ensure!(output.status.success(), "failed: {}", output.status);
        if typed.folder.is_none() {
            self.now = fs::read_to_string(left)?.trim_end().into();
        }
        self.shows(typed, &printed)
    }

    /// A shell that knows no more of its user than where the tools are.
    fn shell(&self, script: &str, folder: &Path, typed: &Typed) -> Command {
        let mut shell = process::command("sh");
        shell.args(["-c", script]).current_dir(folder).env_clear();
        for (name, value) in env::vars_os() {
            let known = name.to_string_lossy();
            let is_kept = VARIABLES.contains(&known.as_ref())
                || BEGINNINGS
                    .iter()
                    .any(|beginning| known.starts_with(beginning));
            if is_kept {
                shell.env(name, value);
            }
        }
        if let Some(real) = env::home_dir() {
            for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
                if env::var_os(variable).is_none() {
                    shell.env(variable, real.join(folder));
                }
            }
        }
        if typed.background_until.is_some() {
            shell.env("STEPWELL_LISTEN", "127.0.0.1:0");
        }
        let variables = typed.variables.iter();
        shell
            .env("HOME", &self.home)
            // By the way of the link: `..` of the checkout is where the page began.
            .env("PWD", folder)
            .envs(variables.map(|(name, value)| (name, value)));
        shell
    }

    fn with_programs(&self, command: &str) -> String {
        let known = self.built.iter();
        let mut built = known.filter_map(|(beginning, program)| {
            let rest = command.strip_prefix(beginning)?;
            let is_whole = rest.is_empty() || rest.starts_with(' ');
            is_whole.then(|| format!("{program}{rest}"))
        });
        built.next().unwrap_or_else(|| command.to_owned())
    }

    /// The text with the ports that were taken in the place of those of the pages.
    fn with_taken_ports(&self, text: &str) -> String {
        let taken = self.ports.iter();
        with_ports(text, taken.map(|(port, taken)| (*port, taken.as_str())))
    }

    /// Whether what the page shows was printed, in its order; `…` stands for whatever it leaves out.
    fn shows(&self, typed: &Typed, printed: &str) -> anyhow::Result<()> {
        let mut rest = printed;
        for line in &typed.shown {
            for piece in self.with_taken_ports(line).split('…').map(str::trim) {
                let found = rest.split_once(piece);
                (_, rest) = found.with_context(|| format!("it did not print: {piece}"))?;
            }
        }
        Ok(())
    }
}

/// The port that a program says it has taken, in the place of the one that the page names for it.
fn taken(typed: &Typed, printed: &str) -> Option<(&'static str, String)> {
    let is_named = |port: &&&str| {
        let named = with_ports(&typed.command, [(**port, "0")]) != typed.command;
        named || typed.shown.iter().any(|line| line.contains(&address(port)))
    };
    let port = PORTS.iter().find(is_named)?;
    let (_, rest) = printed.split_once(&address(""))?;
    let digits = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((port, digits))
}

/// A port that nobody has, below those that a system gives out by itself: no connection takes it in between.
/// Those from 24000 on are the tests' own.
fn free_port() -> anyhow::Result<u16> {
    let first = std::process::id() as usize % 4_000;
    let mut ports = (20_000..24_000).cycle().skip(first).take(4_000);
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.context("there is no free port between 20000 and 24000")
}

fn with_ports<'a>(text: &str, ports: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = text.to_owned();
    for (port, other) in ports {
        text = text.replace(&address(port), &address(other));
        text = text.replace(&format!("--port {port}"), &format!("--port {other}"));
    }
    text
}

fn address(port: &str) -> String {
    format!("127.0.0.1:{port}")
}

#[cfg(test)]
mod tests {
    use super::{Page, Place, Step, Typed, of_page};
    use crate::log::Log;
    use std::path::Path;

    fn page(text: &str) -> Page {
        Page::parse(Path::new("page.md"), text).unwrap()
    }

    #[test]
    fn a_page_has_its_files_and_commands_in_order() {
        let page = page(
            "<!-- with: pypi -->\n```console\n$ pip install a\n```\n<!-- unless: pypi -->\n```console\n$ pip install ./a\n```\n\
             <!-- file: b.py -->\n```python\nprint(1)\n```\n```console\n$ python b.py \\\n  c\n1\n```\n\
             <!-- not run: long -->\n```console\n$ sleep 9\n```\n",
        );
        let typed = |command: &str, shown: &[&str]| {
            Step::Command(Typed {
                command: command.to_owned(),
                shown: shown.iter().map(|line| (*line).to_owned()).collect(),
                ..Typed::default()
            })
        };
        let file = Step::File {
            name: "b.py".to_owned(),
            text: "print(1)\n".to_owned(),
        };
        let python = typed("python b.py \\\n  c", &["1"]);
        assert_eq!(
            of_page(&page, &[]),
            [typed("pip install ./a", &[]), file, python]
        );
        assert_eq!(of_page(&page, &["pypi"])[0], typed("pip install a", &[]));
    }

    #[cfg(unix)]
    #[test]
    fn what_listens_takes_a_free_port_and_the_page_goes_on_with_that() {
        let scratch = Place::outside("ports").unwrap();
        let mut log = Log::create(&scratch, "log").unwrap();
        let mut place = Place::new(&scratch.join("place"), Path::new("/")).unwrap();
        let page = page(
            "<!-- background until: http -->\n```console\n$ sh -c 'echo http://127.0.0.1:4321/v1; cat' --port 4000\n```\n\
             ```console\n$ echo http://127.0.0.1:4000/v1\nhttp://127.0.0.1:4000/v1\n```\n",
        );
        let steps = of_page(&page, &[]);
        for step in &steps {
            place.take(&mut log, step).unwrap();
        }
        let log = std::fs::read_to_string(log.path()).unwrap();
        assert!(
            log.contains("--port ") && !log.contains("--port 4000"),
            "{log}"
        );
        assert!(!log.contains("--port 0"), "{log}");
        assert!(log.contains("$ echo http://127.0.0.1:4321/v1\n"), "{log}");
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn commands_go_on_where_the_last_one_was_and_print_what_is_shown() {
        let scratch = Place::outside("test").unwrap();
        let mut log = Log::create(&scratch, "log").unwrap();
        let mut place = Place::new(&scratch.join("place"), Path::new("/")).unwrap();
        let page = page(
            "```console\n$ cd stepwell\n$ cd ..\n$ pwd\n…/place/work\n$ mkdir a && cd a\n$ pwd\n…/work/a\n$ echo $HOME\n…/place/home\n$ echo one; echo two\none\n…\n```\n",
        );
        for step in of_page(&page, &[]) {
            place.take(&mut log, &step).unwrap();
        }
        for wrong in [
            "$ false",
            "$ echo one\ntwo",
            "$ echo one; echo two\ntwo\none",
        ] {
            let page = self::page(&format!("```console\n{wrong}\n```\n"));
            let steps = of_page(&page, &[]);
            assert!(place.take(&mut log, &steps[0]).is_err(), "{wrong}");
        }
        std::fs::remove_dir_all(scratch).unwrap();
    }
}
