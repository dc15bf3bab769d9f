//! The npm package, from a registry that has ours and sends npm to npmjs.org for all others.

use super::{
    Install,
    registry::{Registry, Share},
    trial::Trial,
};
use crate::{packages::web, process, tools::mock_llm};
use anyhow::Context as _;
use serde_json::{Value, json};
use std::{fs, path::Path};

pub(crate) const INSTALL: Install = Install {
    name: "npm",
    line: "npm install stepwell",
    page: "bindings/web/README.md",
    make: web::make,
    run: |trial, package| {
        let model = mock_llm::start(trial.context, trial.log, None)?;
        let registry = publish(trial, package)?;
        trial.set("npm_config_registry", format!("{}/", registry.address()));
        for step in trial.steps("npm")? {
            trial.take(&step)?;
        }
        trial.paste("web/hello.mjs", "hello.mjs")?;
        trial.run(&format!("node hello.mjs {}", model.base_url()))
    },
};

fn publish(trial: &mut Trial<'_>, package: &Path) -> anyhow::Result<Registry> {
    let folder = trial.context.scratch().join("installs/npmjs");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let packages = folder.join("stepwell");
    fs::create_dir_all(&packages)?;
    let packed = trial.log.read(
        process::command("npm")
            .args(["pack", "--json", "--pack-destination"])
            .arg(&packages)
            .arg(package)
            .current_dir(&folder),
    )?;
    let packed: Value = serde_json::from_str(&packed).context("npm said what is not JSON")?;
    let packed = &packed[0];
    let registry = Registry::start(
        0,
        vec![Share {
            begins: "/",
            folders: vec![folder],
            beyond: "https://registry.npmjs.org/",
        }],
    )?;
    let manifest = fs::read_to_string(package.join("package.json"))?;
    let mut manifest: Value = serde_json::from_str(&manifest)?;
    let file = packed["filename"].as_str().context("npm named no file")?;
    manifest["dist"] = json!({
        "tarball": format!("{}/stepwell/{file}", registry.address()),
        "integrity": packed["integrity"],
        "shasum": packed["shasum"],
    });
    let version = manifest["version"]
        .as_str()
        .context("there is no version")?;
    let document = json!({
        "name": "stepwell",
        "dist-tags": { "latest": version },
        "versions": { version: manifest },
    });
    fs::write(packages.join("index.json"), document.to_string())?;
    Ok(registry)
}
