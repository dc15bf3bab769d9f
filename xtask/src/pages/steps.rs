//! The commands of a page, run in their order as a new user would: by one shell, in an empty folder, with an empty home.

use super::{Block, blocks};
use crate::{
    context::Context,
    log::Log,
    packages::{copied, emptied},
    process,
};
use anyhow::{Context as _, bail};
use std::{
    env,
    fmt::Write as _,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
};

/// The settings of a page's trial.
#[derive(Default)]
pub(crate) struct Trial<'t> {
    page: &'t str,
    /// The source of the folder `stepwell`.
    checkout: PathBuf,
    /// The registry that has the packages; without one they come from the checkout.
    pub(crate) registry: Option<&'t str>,
    /// Beginnings of commands, and what is typed instead.
    pub(crate) instead: Vec<(&'t str, String)>,
    pub(crate) variables: Vec<(&'t str, String)>,
    /// More commands, as a block of the page has them.
    pub(crate) then: String,
}

/// The input, and the lines that it should print.
type Command = (String, Vec<String>);

/// The beginnings of variables that hold the paths of a machine's tools, and how they download what they need.
const KEPT: &str = "ALL_PROXY CARGO_BUILD_JOBS CARGO_HOME CARGO_INCREMENTAL CARGO_PROFILE_ HTTP JAVA_HOME LANG MAVEN_ NODE_EXTRA \
                    NO_PROXY PATH PIP_ PYENV_ROOT RUSTUP_ SSL_CERT_ http no_proxy npm_config_";

/// Files of the home folder with the same settings.
const FILES: &str = ".config/pip/pip.conf .m2/settings.xml .npmrc .pip/pip.conf";

/// The shell's mark before each command, with the time.
const MARK: &str = "== step, at second ";

/// Reads a command's output until the expected line; then the script continues.
const UNTIL: &str = r#"exec 3<"$HOME/out"
while IFS= read -r line <&3; do
  printf '%s\n' "$line"
  case $line in *"$until"*) break ;; esac
done
cat <&3 >/dev/null 4<&- &"#;

impl<'t> Trial<'t> {
    pub(crate) fn new(page: &'t str, checkout: &Path) -> Self {
        Self {
            page,
            checkout: checkout.to_owned(),
            ..Self::default()
        }
    }

    /// Runs the steps of the page, and returns the time of each command. A command that fails, or does not print what
    /// the page shows, is an error.
    pub(crate) fn run(&self, context: &Context, log: &mut Log) -> anyhow::Result<String> {
        // Not within the repository: cargo would take a new project for a part of it.
        let folder = env::temp_dir().join(format!("stepwell-steps-{}", std::process::id()));
        let (work, home) = (emptied(folder.clone())?.join("work"), folder.join("home"));
        fs::create_dir_all(&work)?;
        fs::create_dir_all(&home)?;
        let real = env::home_dir().context("there is no home folder")?;
        for name in FILES.split(' ') {
            if real.join(name).exists() {
                copied(&real.join(name), &home.join(name))?;
            }
        }
        std::os::unix::fs::symlink(&self.checkout, work.join("stepwell"))?;
        let [server, model] = free_ports()?;
        let text = fs::read_to_string(context.root.join(self.page))? + "\n" + &self.then;
        let text = text.replace("127.0.0.1:8000", &format!("127.0.0.1:{server}"));
        let text = text.replace("127.0.0.1:4000", &format!("127.0.0.1:{model}"));
        let text = text.replace("--port 4000", &format!("--port {model}"));
        let (script, steps) = self.script(blocks(&text)?)?;
        fs::write(home.join("steps.sh"), script)?;

        let mut shell = process::command("sh");
        shell.arg(home.join("steps.sh")).current_dir(&work);
        for (name, _) in env::vars() {
            if !KEPT.split(' ').any(|kept| name.starts_with(kept)) {
                shell.env_remove(name);
            }
        }
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            shell.env(name, env::var_os(name).unwrap_or(real.join(folder).into()));
        }
        shell.env("listen", format!("127.0.0.1:{server}"));
        shell.env("HOME", &home).env("PWD", &work);
        shell.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = log.output(&mut shell)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        log.write(&printed)?;
        let took = took(&steps, &printed).context(self.page.to_owned())?;
        fs::remove_dir_all(folder)?;
        Ok(took)
    }

    /// Returns the shell's script, and its commands with the lines that they should print.
    fn script(&self, blocks: Vec<Block>) -> anyhow::Result<(String, Vec<Command>)> {
        let (mut script, mut steps) = (String::new(), Vec::new());
        writeln!(
            script,
            "trap 'kill $running 2>/dev/null' EXIT\nmkfifo \"$HOME/out\" \"$HOME/in\"\nexec 4<>\"$HOME/in\"\nwork=$PWD"
        )?;
        for block in blocks {
            let is_there = |name: &str| self.registry == Some(name);
            if block.mark("not run").is_some()
                || block.mark("with").is_some_and(|name| !is_there(name))
                || block.mark("unless").is_some_and(is_there)
            {
                continue;
            }
            if let Some(name) = block.mark("file") {
                writeln!(
                    script,
                    "mkdir -p \"$(dirname '{name}')\"\ncat >'{name}' <<'END OF FILE'\n{}END OF FILE",
                    block.text
                )?;
            } else if block.language == "console" {
                let commands = commands(&block.text);
                let last = commands.len();
                for ((command, shown), number) in commands.into_iter().zip(1..) {
                    let folder = block.mark("in").unwrap_or_default();
                    let mut typed = self.instead(&command);
                    if let Some(variable) = block.mark("env") {
                        typed = format!("{variable} {typed}");
                    }
                    writeln!(script, "echo '{MARK}'$(date +%s)")?;
                    match block.mark("background until") {
                        // Its input stays open, as at a terminal.
                        Some(sign) if number == last => writeln!(
                            script,
                            "(cd \"$work/{folder}\"\nSTEPWELL_LISTEN=$listen exec {typed}\n) <\"$HOME/in\" >\"$HOME/out\" 4<&- &\nrunning=\"$running $!\" until='{sign}'\n{UNTIL}"
                        )?,
                        _ if folder.is_empty() => {
                            writeln!(script, "{typed}\n[ $? = 0 ] || exit 1")?;
                        }
                        _ => writeln!(script, "(cd \"$work/{folder}\"\n{typed}\n) || exit 1")?,
                    }
                    steps.push((command, shown));
                }
            }
        }
        writeln!(script, "echo '{MARK}'$(date +%s)")?;
        Ok((script, steps))
    }

    fn instead(&self, command: &str) -> String {
        let mut known = self.instead.iter().filter_map(|(beginning, program)| {
            let rest = command.strip_prefix(beginning)?;
            (rest.is_empty() || rest.starts_with(' ')).then(|| format!("{program}{rest}"))
        });
        known.next().unwrap_or_else(|| command.to_owned())
    }
}

/// The lines behind `$ `, each with the lines that follow it.
fn commands(text: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), Vec::new())),
            (None, Some((command, _))) if command.ends_with('\\') => {
                command.push('\n');
                command.push_str(line);
            }
            (None, Some((_, shown))) if !line.trim().is_empty() => shown.push(line.to_owned()),
            _ => {}
        }
    }
    commands
}

/// Returns the time of each command. One that failed, or did not print what the page shows in its order, is an error;
/// `…` represents any output that the page leaves out.
fn took(steps: &[Command], printed: &str) -> anyhow::Result<String> {
    let parts = printed.split(MARK).skip(1);
    let parts: Vec<_> = parts.filter_map(|part| part.split_once('\n')).collect();
    if let Some((command, _)) = steps.get(parts.len().saturating_sub(1)) {
        bail!("`{command}` failed");
    }
    let mut took = Vec::new();
    for ((command, shown), pair) in steps.iter().zip(parts.windows(2)) {
        let (began, mut rest) = pair[0];
        for text in shown.iter().flat_map(|line| line.split('…')).map(str::trim) {
            let found = rest.split_once(text);
            (_, rest) = found.with_context(|| format!("`{command}` did not print: {text}"))?;
        }
        let seconds = pair[1].0.parse::<u64>()? - began.parse::<u64>()?;
        took.push(format!("{seconds:>5} s  {command}"));
    }
    Ok(took.join("\n"))
}

/// Returns free ports, below those that a system gives out by itself: no connection takes them in between. Those from
/// 24000 on are the tests' own.
fn free_ports() -> anyhow::Result<[u16; 2]> {
    let first = std::process::id() as usize % 4_000;
    let mut ports = (20_000..24_000).cycle().skip(first).take(4_000);
    let mut next = || ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    match (next(), next()) {
        (Some(one), Some(other)) => Ok([one, other]),
        _ => bail!("there are no free ports between 20000 and 24000"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Trial, blocks, took};
    use std::path::Path;

    /// Runs the page's commands in an empty folder.
    fn run(page: &str) -> anyhow::Result<String> {
        let mut trial = Trial::new("page.md", Path::new("/"));
        trial.registry = Some("pypi");
        trial.instead = vec![("say it", "echo".to_owned())];
        let (script, steps) = trial.script(blocks(page)?)?;
        let folder =
            std::env::temp_dir().join(format!("stepwell-test-{}-{:p}", std::process::id(), page));
        std::fs::create_dir_all(folder.join("stepwell"))?;
        let mut shell = std::process::Command::new("sh");
        let shell = shell
            .args(["-c", &script])
            .current_dir(&folder)
            .env("HOME", &folder);
        let output = shell.output()?;
        std::fs::remove_dir_all(&folder)?;
        took(&steps, &String::from_utf8(output.stdout)?)
    }

    #[test]
    fn commands_continue_where_the_last_one_was_and_print_what_is_shown() {
        let page = "<!-- with: pypi -->\n```console\n$ say it a\na\n```\n<!-- unless: pypi -->\n```console\n$ false\n```\n\
            <!-- file: b/c -->\n```text\none $HOME\n```\n```console\n$ cd b && cat \\\n  c\none $HOME\n$ pwd\n…/b\n```\n\
            <!-- in: stepwell -->\n```console\n$ pwd # where\n…/stepwell\n```\n\
            <!-- env: WHAT=this -->\n```console\n$ sh -c 'echo $WHAT; echo two'\nthis\n…\n```\n\
            <!-- not run: long -->\n```console\n$ sleep 9\n```\n";
        let said = run(page).unwrap();
        assert_eq!(said.lines().count(), 6, "{said}");
        for wrong in [
            "$ false",
            "$ echo one\ntwo",
            "$ echo one; echo two\ntwo\none",
            "$ false && true",
        ] {
            let page = format!("```console\n{wrong}\n```\n");
            assert!(run(&page).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_stays_running_is_up_when_it_says_so_and_ends_with_the_page() {
        let page = "<!-- background until: up -->\n```console\n$ sh -c 'echo begins; echo up $$ > pid; cat pid; cat'\nbegins\nup …\n```\n\
            ```console\n$ cat pid\nup …\n```\n";
        run(page).unwrap();
        let page = page.replace("echo up $$ > pid; cat pid; cat", "exit");
        assert!(run(&page).is_err());
    }
}
