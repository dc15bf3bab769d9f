use crate::settings::{
    AllSettings, GlobalSettings, Origin, Sources, hide, known_settings, variables,
};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Map, Value};
use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use stepwell_demo::Failure;
use stepwell_demo::catalog;

/// Prints the settings in force, and where each comes from.
///
/// A flag overrides an environment variable, a variable the file, the file the default. The flags here are those of `chat`
/// and `serve`, so that their command lines can be tried. Secrets are not shown.
#[derive(Args, Debug)]
pub(crate) struct ShowConfig {
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    settings: AllSettings,
    /// A flag of `chat`, not a setting.
    #[arg(long = "resume", value_name = "SESSION", num_args = 0..=1, hide = true)]
    _resume: Option<String>,
    /// A flag of `serve`, not a setting.
    #[arg(long = "script", value_name = "FILE", hide = true)]
    _script: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// A settings file, with a comment for each line.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    /// The user's own file, or the one that is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<File<'a>>,
    /// The variable that the provider's key is taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<Key>,
    settings: Vec<Setting>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    path: &'a Path,
    is_read: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    variable: String,
    is_set: bool,
}

#[derive(Debug, Serialize)]
struct Setting {
    key: String,
    /// `null` if there is none.
    value: Value,
    origin: Origin,
    /// The variables that set it.
    variables: Vec<String>,
}

impl ShowConfig {
    pub(crate) fn run(&self, global: &GlobalSettings, sources: &Sources) -> Result<(), Failure> {
        let mut settings = listed(&self.settings, sources)?;
        settings.extend(listed(global, sources)?);
        let file = sources.file();
        let report = Report {
            file: file.map(|(path, is_read)| File { path, is_read }),
            api_key: self.settings.model.provider.as_deref().and_then(api_key),
            settings,
        };
        let mut out = io::stdout().lock();
        match self.format {
            Format::Json => {
                serde_json::to_writer(&mut out, &report).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            Format::Text => print(&report, &mut out)?,
        }
        Ok(())
    }
}

/// Lists a group of settings, with what may be a secret hidden.
fn listed(group: &impl Serialize, sources: &Sources) -> Result<Vec<Setting>, Failure> {
    let values: Map<String, Value> = serde_json::to_value(group)
        .and_then(serde_json::from_value)
        .map_err(Failure::failed)?;
    let known = known_settings();
    let listed = values.into_iter().map(|(key, mut value)| {
        hide(&mut value);
        let setting = known
            .iter()
            .find(|setting| setting.get_id() == key.as_str());
        Setting {
            origin: sources.origin(&key),
            variables: setting.map(variables).unwrap_or_default(),
            key,
            value,
        }
    });
    Ok(listed.collect())
}

fn api_key(provider: &str) -> Option<Key> {
    let variable = catalog().find(provider).ok()?.key_variable.to_string();
    let is_set = env::var_os(&variable).is_some_and(|key| !key.is_empty());
    Some(Key { variable, is_set })
}

fn print(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    if let Some(File { path, is_read }) = &report.file {
        let state = if *is_read { "" } else { ", which is not there" };
        writeln!(out, "# file: {}{state}", path.display())?;
    }
    if let Some(Key { variable, is_set }) = &report.api_key {
        let state = if *is_set { "is set" } else { "is not set" };
        writeln!(
            out,
            "# API key: environment variable {variable}, which {state}"
        )?;
    }
    for Setting {
        key, value, origin, ..
    } in &report.settings
    {
        // Strings, lists, numbers and booleans are the same in TOML and JSON.
        let line = match value {
            Value::Null => format!("# {key} ="),
            value => format!("{key} = {value}"),
        };
        writeln!(out, "{line:<40} # {origin}")?;
    }
    Ok(())
}
