use crate::failure::Failure;
use clap::Args;
use std::io::{self, Write};
use stepwell_core::provider;

#[derive(Args, Debug)]
pub(crate) struct Providers {}

impl Providers {
    #[allow(clippy::unused_self, reason = "as the other commands")]
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut rows = vec![["PROVIDER", "API", "FORMAT", "KEY", "ADDRESS"].map(str::to_owned)];
        for provider in provider::all() {
            for api in provider.apis {
                let name = match api.name == provider.default_api && provider.apis.len() > 1 {
                    true => format!("{} (default)", api.name),
                    false => api.name.to_owned(),
                };
                let key = match provider.needs_key {
                    true => provider.key_variable.to_owned(),
                    false => format!("{} (optional)", provider.key_variable),
                };
                let address = api.base_url.unwrap_or("your own: --base-url");
                rows.push([
                    provider.name.to_owned(),
                    name,
                    api.dialect.name().to_owned(),
                    key,
                    address.to_owned(),
                ]);
            }
        }
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: Vec<_> = (0..4).map(width).collect();
        let mut out = io::stdout().lock();
        for row in &rows {
            for (cell, width) in row.iter().zip(&widths) {
                write!(out, "{cell:width$}  ")?;
            }
            writeln!(out, "{}", row[4])?;
        }
        Ok(())
    }
}
