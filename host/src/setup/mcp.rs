//! The MCP servers that the settings name.

use crate::settings::ToolSettings;
use std::collections::BTreeMap;
use std::path::Path;
use stepwell_demo::{Failure, one_line};
use stepwell_io::mcp::{McpConfig, McpEvent, McpOptions, McpServerConfig, McpServers};

/// Programs that start another one, which their arguments name.
const LAUNCHERS: &[&str] = &[
    "bun", "bunx", "cargo", "deno", "docker", "java", "node", "npm", "npx", "pipx", "pnpm",
    "podman", "python", "python3", "sh", "bash", "uv", "uvx", "yarn",
];

/// The subcommands of such programs.
const SUBCOMMANDS: &[&str] = &["dlx", "exec", "run", "start", "tool", "x"];

/// Starts the servers that the settings name.
pub(crate) async fn connect(settings: &ToolSettings) -> Result<McpServers, Failure> {
    let config = config(settings)?;
    McpServers::connect(config, McpOptions::default())
        .await
        .map_err(Failure::failed)
}

fn config(settings: &ToolSettings) -> Result<McpConfig, Failure> {
    let mut all = McpConfig::default();
    for file in &settings.mcp_config {
        for (name, server) in read(file)?.servers {
            if all.servers.insert(name.clone(), server).is_some() {
                return Err(Failure::usage(format!(
                    "{}: there is an MCP server named `{name}` already",
                    file.display()
                )));
            }
        }
    }
    for command in &settings.mcp {
        let (name, server) = parse(command)
            .map_err(|reason| Failure::usage(format!("--mcp `{command}`: {reason}")))?;
        let is_taken = |name: &String| all.servers.contains_key(name);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let name = names.find(|name| !is_taken(name)).unwrap_or(name);
        all.servers.insert(name, server);
    }
    Ok(all)
}

/// Returns a line about an event of a server, if users should see it.
pub(crate) fn note(event: &McpEvent) -> Option<String> {
    match event {
        McpEvent::Progress {
            tool,
            progress,
            total,
            message,
            ..
        } => {
            let total = total.map_or_else(String::new, |total| format!(" of {total}"));
            let message = message
                .as_deref()
                .map_or_else(String::new, |message| format!(": {}", one_line(message)));
            Some(format!("{tool}: {progress}{total}{message}"))
        }
        McpEvent::Lost { server, reason, .. } => {
            Some(format!("MCP server {server}: {}", one_line(reason)))
        }
        _ => None,
    }
}

fn read(file: &Path) -> Result<McpConfig, Failure> {
    let unusable =
        |reason: &dyn std::fmt::Display| Failure::usage(format!("{}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| unusable(&error))?;
    text.parse().map_err(|error| unusable(&error))
}

/// Parses a server as it is typed in a shell, with variables before the command, and returns a name for it.
fn parse(command: &str) -> Result<(String, McpServerConfig), String> {
    let command = command.trim();
    if command.starts_with("http://") || command.starts_with("https://") {
        let rest = command.split_once("//").map_or("", |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default();
        return Ok((host.to_owned(), McpServerConfig::http(command)));
    }
    let words = shell_words::split(command).map_err(|error| error.to_string())?;
    let mut words = words.into_iter().peekable();
    let mut env = BTreeMap::new();
    while let Some((name, value)) = words.peek().and_then(|word| assignment(word)) {
        env.insert(name, value);
        words.next();
    }
    let command = words.next().ok_or("there is no command in it")?;
    let args: Vec<String> = words.collect();
    let name = name(&command, &args);
    let server = McpServerConfig::Stdio {
        command,
        args,
        env,
        cwd: None,
        disabled: false,
    };
    Ok((name, server))
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

/// Returns the name of the program, or of what a launcher starts, without folder, version and extension.
fn name(command: &str, args: &[String]) -> String {
    let program = stem(command);
    if !LAUNCHERS.contains(&&*program) {
        return program;
    }
    let started = args
        .iter()
        .find(|word| !word.starts_with('-') && !SUBCOMMANDS.contains(&&***word));
    started.map_or(program, |started| stem(started))
}

fn stem(word: &str) -> String {
    let last = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let unversioned = last.split(['@', ':']).find(|part| !part.is_empty());
    let name = unversioned.unwrap_or("mcp");
    let endings = [".js", ".mjs", ".ts", ".py", ".sh", ".exe", ".cmd", ".jar"];
    let ending = endings.iter().find(|ending| name.ends_with(**ending));
    let name = ending.map_or(name, |ending| &name[..name.len() - ending.len()]);
    if name.is_empty() {
        "mcp".to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_split_as_in_a_shell_and_named() {
        for (command, name) in [
            (
                "mcp-server-time --local-timezone 'Europe/Oslo'",
                "mcp-server-time",
            ),
            (
                "npx -y @modelcontextprotocol/server-everything@1.2 stdio",
                "server-everything",
            ),
            (
                "uvx mcp-server-git --repository '/a folder'",
                "mcp-server-git",
            ),
            ("uv run /srv/weather.py", "weather"),
            ("docker run -i --rm ghcr.io/example/files:latest", "files"),
            ("KEY='a b' /usr/bin/node ./server.mjs", "server"),
            ("npx -y", "npx"),
        ] {
            assert_eq!(parse(command).expect("a command").0, name, "{command}");
        }
        let (_, server) = parse("KEY='a b' LEVEL=2 run-it 'one word' two=2").expect("a command");
        let mut expected = McpServerConfig::stdio("run-it", ["one word", "two=2"]);
        if let McpServerConfig::Stdio { env, .. } = &mut expected {
            env.insert("KEY".to_owned(), "a b".to_owned());
            env.insert("LEVEL".to_owned(), "2".to_owned());
        }
        assert_eq!(server, expected);
    }

    #[test]
    fn url_is_streamable_http() {
        let (name, server) = parse(" https://me@search.example:8080/mcp?x=1 ").expect("a URL");
        assert_eq!(name, "search.example:8080");
        assert_eq!(
            server,
            McpServerConfig::http("https://me@search.example:8080/mcp?x=1")
        );
    }

    #[test]
    fn invalid_command_is_refused() {
        for command in ["", "  ", "KEY=1", "a 'b"] {
            assert!(parse(command).is_err(), "{command}");
        }
    }

    #[test]
    fn equal_names_are_numbered() {
        let settings = ToolSettings {
            ask_before: Vec::new(),
            mcp: vec!["a/time".to_owned(), "b/time".to_owned(), "time".to_owned()],
            mcp_config: Vec::new(),
        };
        let config = config(&settings).expect("three servers");
        let names: Vec<_> = config.servers.keys().collect();
        assert_eq!(names, ["time", "time_2", "time_3"]);
    }
}
