use super::groups::GlobalSettings;
use super::setting::{Origin, Values, is_setting, known_settings, variables};
use super::{environment, file};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Parser};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use stepwell_demo::Failure;

/// The places that the settings of this call come from.
#[derive(Debug)]
pub(crate) struct Sources {
    file: Option<(PathBuf, bool)>,
    origins: BTreeMap<String, Origin>,
}

impl Sources {
    /// Returns where a setting comes from.
    pub(crate) fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).cloned().unwrap_or(Origin::Default)
    }

    /// Returns the path of the settings file, and whether there is such a file.
    pub(crate) fn file(&self) -> Option<(&Path, bool)> {
        let (path, is_read) = self.file.as_ref()?;
        Some((path, *is_read))
    }

    /// Refuses flags about a provider where no provider is set.
    pub(crate) fn refuse_provider_flags(&self, keys: &[&str]) -> Result<(), Failure> {
        let flag = keys.iter().find_map(|key| match self.origin(key) {
            Origin::Flag(flag) => Some(flag),
            _ => None,
        });
        match flag {
            Some(flag) => Err(Failure::usage(format!(
                "{flag} is of a provider: name it with --provider"
            ))),
            None => Ok(()),
        }
    }
}

/// Parses the command line, with the environment and the settings file behind it. Prints help and ends if that is asked
/// for.
///
/// # Errors
/// The command line is wrong, the file cannot be read, or a name or value in the environment or the file is wrong.
pub(crate) fn parse<C: Parser>() -> Result<(C, Sources), Failure> {
    let known = known_settings();
    // The command line by itself first: help is there whatever the environment holds, and it may name the file.
    let matches = matches(with_defaults(C::command(), &Values::new()))?;
    let named = matches.get_one::<PathBuf>(GlobalSettings::FILE);
    let file = file::find(named, &known)?;
    environment::check_names(&known)?;
    let mut values = file.values;
    values.extend(environment::read(&known, |name| std::env::var_os(name))?);
    let matches = self::matches(with_defaults(C::command(), &values))?;
    let parsed = C::from_arg_matches(&matches).map_err(|error| Failure::command_line(&error))?;
    let origins = values.into_iter().map(|(key, (origin, _))| (key, origin));
    let mut origins: BTreeMap<_, _> = origins.collect();
    origins.extend(flags(&matches));
    let sources = Sources {
        file: file.path.map(|path| (path, file.is_read)),
        origins,
    };
    Ok((parsed, sources))
}

/// Gives these values to the settings of a command and of its subcommands as their defaults.
///
/// Clap does not read the variables itself: it supports one name for each, takes an empty variable for a value, splits
/// lists on the command line too, and does not name the variable of a wrong value. The help lists them all the same.
fn with_defaults(command: Command, values: &Values) -> Command {
    let command = command.mut_args(|arg| {
        if !is_setting(&arg) {
            return arg;
        }
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let variables = variables(&arg).join(", ");
        let given = values.get(arg.get_id().as_str());
        let arg = arg.help(format!("{help} [env: {variables}]")).env(None);
        match given {
            Some((_, values)) => arg.default_values(values.clone()),
            None => arg,
        }
    });
    command.mut_subcommands(|command| with_defaults(command, values))
}

fn matches(command: Command) -> Result<ArgMatches, Failure> {
    command
        .try_get_matches()
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
            _ => Failure::command_line(&error),
        })
}

/// Returns the ids that the command line has flags for.
fn flags(matches: &ArgMatches) -> BTreeMap<String, Origin> {
    let given = matches.ids().map(clap::Id::as_str);
    let given = given.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
    let origin = |id: &str| Origin::Flag(format!("--{}", id.replace('_', "-")));
    let mut flags: BTreeMap<_, _> = given.map(|id| (id.to_owned(), origin(id))).collect();
    if let Some((_, matches)) = matches.subcommand() {
        flags.extend(self::flags(matches));
    }
    flags
}
