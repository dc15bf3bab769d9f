//! The crates, from an index that has ours and sends cargo to crates.io for all others.

use super::{
    Install,
    registry::{Registry, Share},
    trial::Trial,
};
use crate::packages::crates::{self, CRATES};
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

pub(crate) const LIBRARY: Install = Install {
    name: "cargo",
    line: "cargo add stepwell-io",
    page: "docs/rust.md",
    make: crates::pack,
    run: |trial, packed| {
        let _registry = set_up(trial, packed)?;
        for step in trial.steps("crates")? {
            if step.command() == Some("cargo run") {
                trial.build("cargo build")?;
                return trial.run("cargo run --quiet");
            }
            trial.take(&step)?;
        }
        bail!("the page runs no program")
    },
};

pub(crate) const PROGRAM: Install = Install {
    name: "program",
    line: "cargo install stepwell",
    page: "README.md",
    make: crates::pack,
    run: |trial, packed| {
        let _registry = set_up(trial, packed)?;
        trial.build(trial.line())?;
        trial.run("\"$HOME/.cargo/bin/stepwell\" demo --json")
    },
};

/// What cargo has built is known by the registry's address, so it is the same in each run.
const PORT: u16 = 8719;

/// How cargo builds what runs once.
const QUICKLY: &[(&str, &str)] = &[
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_PROFILE_DEV_DEBUG", "none"),
    ("CARGO_PROFILE_DEV_CODEGEN_UNITS", "2"),
    ("CARGO_PROFILE_DEV_BUILD_OVERRIDE_CODEGEN_UNITS", "2"),
];

const CRATES_IO: &str = "https://github.com/rust-lang/crates.io-index";

fn set_up(trial: &mut Trial<'_>, packed: &Path) -> anyhow::Result<Registry> {
    let folder = trial.context.scratch().join("installs/crates");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let (index, downloads) = (folder.join("index"), folder.join("downloads"));
    let registry = Registry::start(
        PORT,
        vec![
            Share {
                begins: "/index/",
                folders: vec![index.clone()],
                beyond: "https://index.crates.io/",
            },
            Share {
                begins: "/crates/",
                folders: vec![downloads.clone()],
                beyond: "https://static.crates.io/crates/",
            },
        ],
    )?;
    publish(&trial.context.version()?, packed, &index, &downloads)?;
    let address = registry.address();
    fs::write(
        index.join("config.json"),
        json!({ "dl": format!("{address}/crates") }).to_string(),
    )?;
    let settings = trial.home().join(".cargo");
    fs::create_dir_all(&settings)?;
    fs::write(
        settings.join("config.toml"),
        format!(
            "[source.crates-io]\nreplace-with = \"here\"\n\n[source.here]\nregistry = \"sparse+{address}/index/\"\n"
        ),
    )?;
    let target = trial.context.scratch().join("installs/cargo-target");
    forget_ours(&target)?;
    trial.set("CARGO_TARGET_DIR", target);
    if trial.context.in_suites {
        // What would help a developer, and takes two fifths of the time, is for the long proof.
        for (name, value) in QUICKLY {
            trial.set(name, *value);
        }
    }
    Ok(registry)
}

/// Puts the crates and what the index says of them where a registry has them.
fn publish(version: &str, packed: &Path, index: &Path, downloads: &Path) -> anyhow::Result<()> {
    for name in CRATES {
        let of_cargo = crates::index_file(&packed.join("index"), name);
        let line = fs::read_to_string(&of_cargo)
            .with_context(|| format!("cargo has left no {}", of_cargo.display()))?;
        let file = crates::index_file(index, name);
        written(&file, in_crates_io(&line)?.as_bytes())?;
        let packed = fs::read(packed.join(format!("{name}-{version}.crate")))?;
        written(
            &downloads.join(name).join(version).join("download"),
            &packed,
        )?;
    }
    Ok(())
}

/// A line of the index as crates.io has it: what it depends on is in the same registry.
fn in_crates_io(line: &str) -> anyhow::Result<String> {
    let mut line: Value = serde_json::from_str(line).context("cargo's index is not JSON")?;
    for dependency in line["deps"].as_array_mut().into_iter().flatten() {
        if dependency["registry"] == CRATES_IO {
            dependency["registry"] = Value::Null;
        }
    }
    Ok(format!("{line}\n"))
}

fn written(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Cargo takes a crate of the same registry and version for the same. So what it has built of ours goes; the rest stays,
/// to save time.
fn forget_ours(target: &Path) -> anyhow::Result<()> {
    for profile in ["debug", "release"] {
        for kind in ["deps", ".fingerprint", "build"] {
            let folder = target.join(profile).join(kind);
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries {
                let path: PathBuf = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if !name.contains("stepwell") {
                    continue;
                }
                if path.is_dir() {
                    fs::remove_dir_all(&path)?;
                } else {
                    fs::remove_file(&path)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::in_crates_io;
    use serde_json::{Value, json};

    #[test]
    fn what_is_in_the_same_registry_names_none() {
        let line = json!({ "name": "stepwell-io", "deps": [
            { "name": "bytes", "registry": "https://github.com/rust-lang/crates.io-index" },
            { "name": "stepwell-core", "registry": null },
            { "name": "other", "registry": "https://registry.example/" },
        ]});
        let written = in_crates_io(&line.to_string()).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        let registries: Vec<_> = (0..3).map(|at| &written["deps"][at]["registry"]).collect();
        assert_eq!(
            registries,
            [
                &Value::Null,
                &Value::Null,
                &json!("https://registry.example/")
            ]
        );
        assert!(in_crates_io("nonsense").is_err());
    }
}
