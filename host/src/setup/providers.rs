use std::fmt::Display;
use std::path::Path;
use stepwell_core::provider::{Catalog, CustomProviders};
use stepwell_demo::Failure;

/// Adds the providers of a file to the catalog: TOML if its name ends in .toml, else JSON.
pub(crate) fn add_providers(path: &Path) -> Result<(), Failure> {
    let unusable = |reason: &dyn Display| Failure::usage(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| unusable(&error))?;
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    let added = if is_toml {
        let custom: CustomProviders = toml::from_str(&text).map_err(|error| unusable(&error))?;
        Catalog::new(custom)
    } else {
        Catalog::from_json(&text)
    };
    stepwell_demo::add_providers(added.map_err(|error| unusable(&error))?);
    Ok(())
}
