use super::hidden::hide;
use super::layer::{self, FILE_VARIABLE, Layer, Origin, flags};
use super::{GlobalFlags, Settings};
use config::{Config, ConfigError};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use stepwell_demo::Failure;

/// What is said beside the flags of a command.
#[derive(Debug)]
pub(crate) struct Sources {
    file: Option<(PathBuf, Layer)>,
    /// Where a file would be looked for.
    expected: Option<PathBuf>,
    environment: Vec<Layer>,
    global: Layer,
}

/// The settings that are in force, and where each comes from.
#[derive(Clone, Debug)]
pub(crate) struct InForce {
    pub(crate) settings: Settings,
    origins: BTreeMap<String, Origin>,
}

impl Sources {
    /// Reads the environment, and the file if there is one.
    ///
    /// # Errors
    /// The file cannot be read, or something is no setting, all but the name of one, or of the wrong type.
    pub(crate) fn read(file: Option<&Path>, global: &GlobalFlags) -> Result<Self, Failure> {
        let named = file.map(Path::to_path_buf).or_else(|| {
            let named = env::var_os(FILE_VARIABLE).filter(|name| !name.is_empty());
            named.map(PathBuf::from)
        });
        let expected = named.clone().or_else(usual_file);
        let mut file = None;
        if let Some(path) = &expected {
            match fs::read_to_string(path) {
                Ok(text) => {
                    let layer = layer::file(path, &text).map_err(Failure::Usage)?;
                    file = Some((path.clone(), layer));
                }
                Err(error) if named.is_none() && is_absent(&error) => {}
                Err(error) => {
                    return Err(Failure::usage(format!("{}: {error}", path.display())));
                }
            }
        }
        let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        if let Some(mistyped) = layer::mistyped(names) {
            return Err(Failure::Usage(mistyped));
        }
        let variables = layer::environment(|name| {
            let value = env::var_os(name)?;
            // What is no text is of no setting's type: let it be said so.
            Some(value.to_string_lossy().into_owned())
        });
        let mut environment = Vec::new();
        for (origin, layer) in variables.map_err(Failure::Usage)? {
            let alone = build([&layer]).and_then(Config::try_deserialize::<Settings>);
            alone.map_err(|error| Failure::usage(format!("{origin}: {}", reason(&error))))?;
            environment.push(layer);
        }
        Ok(Self {
            file,
            expected,
            environment,
            global: flags(global)?,
        })
    }

    /// What is in force for a command with these flags of its own.
    pub(crate) fn with(&self, own: &[Layer]) -> Result<InForce, Failure> {
        let file = self.file.iter().map(|(_, layer)| layer);
        let layers = file.chain(&self.environment).chain([&self.global]);
        let wrong = |error: ConfigError| Failure::Usage(reason(&error));
        let config = build(layers.chain(own)).map_err(wrong)?;
        let values = config.cache.clone().into_table().map_err(wrong)?;
        let origins = values.into_iter();
        let origins = origins.map(|(key, value)| (key, Origin::of(value.origin())));
        Ok(InForce {
            origins: origins.collect(),
            settings: config.try_deserialize().map_err(wrong)?,
        })
    }

    /// The file that is read, or the one that would be.
    pub(crate) fn file(&self) -> Option<(&Path, bool)> {
        let path = self.expected.as_deref()?;
        Some((path, self.file.is_some()))
    }
}

impl InForce {
    /// Where a setting comes from.
    pub(crate) fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).cloned().unwrap_or(Origin::Default)
    }

    /// All settings, with what may be a secret hidden.
    pub(crate) fn shown(&self) -> Vec<(String, Json, Origin)> {
        let Ok(Json::Object(values)) = serde_json::to_value(&self.settings) else {
            return Vec::new();
        };
        let shown = values.into_iter().map(|(key, mut value)| {
            hide(&mut value);
            let origin = self.origin(&key);
            (key, value, origin)
        });
        shown.collect()
    }
}

fn build<'a>(layers: impl IntoIterator<Item = &'a Layer>) -> Result<Config, ConfigError> {
    let mut builder = Config::builder();
    for layer in layers {
        builder = builder.add_source(layer.clone());
    }
    builder.build()
}

/// The error without the place: that is said in other words.
fn reason(error: &ConfigError) -> String {
    match error {
        ConfigError::Type {
            unexpected,
            expected,
            ..
        } => format!("{unexpected} is not {expected}"),
        ConfigError::At { error, .. } => reason(error),
        other => other.to_string(),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The user's own file. None is read from the folder that the program is started in: whoever made that folder could
/// name commands to run and an address to send the key to.
fn usual_file() -> Option<PathBuf> {
    let folder = |name: &str| {
        let folder = env::var_os(name).filter(|folder| !folder.is_empty());
        folder.map(PathBuf::from)
    };
    let base = if cfg!(windows) {
        folder("APPDATA")?
    } else {
        // The XDG Base Directory Specification: a relative path counts as none.
        let set = folder("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
        set.or_else(|| Some(folder("HOME")?.join(".config")))?
    };
    Some(base.join("stepwell").join("config.toml"))
}
