//! The provider that a command names.

use crate::Failure;
use clap::Args;
use std::sync::OnceLock;
use stepwell_core::provider::{Api, Catalog, Provider};

/// The wire format of a stream.
#[derive(Args, Debug)]
pub struct Format {
    /// The provider whose format it is; `stepwell providers` lists them.
    #[arg(long)]
    pub provider: String,
    /// The provider's API, if not its default one.
    #[arg(long)]
    pub api: Option<String>,
}

impl Format {
    /// Returns the provider and its API.
    ///
    /// # Errors
    /// The provider or the API is unknown.
    pub fn find(&self) -> Result<(&'static Provider, &'static Api), Failure> {
        let provider = catalog().find(&self.provider).map_err(Failure::usage)?;
        let api = provider.api(self.api.as_deref()).map_err(Failure::usage)?;
        Ok((provider, api))
    }
}

static CATALOG: OnceLock<Catalog> = OnceLock::new();

/// Returns all known providers.
pub fn catalog() -> &'static Catalog {
    CATALOG.get_or_init(Catalog::default)
}

/// Replaces the built-in catalog by one with more providers, if it was not used yet.
pub fn add_providers(catalog: Catalog) {
    let _ = CATALOG.set(catalog);
}
