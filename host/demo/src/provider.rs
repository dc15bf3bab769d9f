//! How to ask for a provider.

use crate::Failure;
use clap::Args;
use std::sync::OnceLock;
use stepwell_core::provider::{Api, Catalog, Provider};

/// Whose wire format is spoken.
#[derive(Args, Debug)]
pub struct Format {
    /// The provider that speaks it; `stepwell providers` lists them.
    #[arg(long)]
    pub provider: String,
    /// Which of its APIs, if not its default one.
    #[arg(long)]
    pub api: Option<String>,
}

impl Format {
    /// The provider and its API.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn find(&self) -> Result<(&'static Provider, &'static Api), Failure> {
        let provider = catalog().find(&self.provider).map_err(Failure::usage)?;
        let api = provider.api(self.api.as_deref()).map_err(Failure::usage)?;
        Ok((provider, api))
    }
}

static CATALOG: OnceLock<Catalog> = OnceLock::new();

/// The providers that there are.
pub fn catalog() -> &'static Catalog {
    CATALOG.get_or_init(Catalog::default)
}

/// Puts a catalog with more providers in the place of the built-in one. It counts if nobody has looked yet.
pub fn add_providers(catalog: Catalog) {
    let _ = CATALOG.set(catalog);
}
