use clap::{Args, ValueEnum};
use std::io::{self, Write};
use stepwell_core::provider::{Capabilities, matrix_markdown};
use stepwell_demo::Failure;
use stepwell_demo::catalog;

/// Lists the providers: their APIs, formats, keys and addresses, and what they can do.
///
/// The list includes the providers of a file that --providers names.
#[derive(Args, Debug)]
pub(crate) struct Providers {
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// A table.
    #[default]
    Text,
    /// All data of each provider.
    Json,
    /// The table of their features, for a page.
    Markdown,
}

impl Providers {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match self.format {
            Format::Text => text(&mut out),
            Format::Markdown => Ok(write!(out, "{}", matrix_markdown(catalog().all()))?),
            Format::Json => {
                let all: Vec<_> = catalog().all().collect();
                serde_json::to_writer_pretty(&mut out, &all).map_err(io::Error::from)?;
                Ok(writeln!(out)?)
            }
        }
    }
}

fn text(out: &mut impl Write) -> Result<(), Failure> {
    let heads = [
        "PROVIDER", "API", "FORMAT", "KEY", "SENT AS", "CAN", "ADDRESS",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    for provider in catalog().all() {
        for api in provider.apis.iter() {
            let name = match api.name == provider.default_api && provider.apis.len() > 1 {
                true => format!("{} (default)", api.name),
                false => api.name.to_string(),
            };
            let key = match (provider.needs_key, &*provider.key_variable) {
                (true, variable) => variable.to_owned(),
                (false, "") => "none".to_owned(),
                (false, variable) => format!("{variable} (optional)"),
            };
            let header = &api.key_header;
            let address = api.base_url.as_deref();
            rows.push([
                provider.name.to_string(),
                name,
                api.dialect.name().to_owned(),
                key,
                format!("{}: {}KEY", header.name, header.prefix),
                abilities(&api.capabilities),
                address.unwrap_or("your own: --base-url").to_owned(),
            ]);
        }
    }
    let last = heads.len() - 1;
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..last).map(|column| width(column).unwrap_or(0)).collect();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths) {
            write!(out, "{cell:width$}  ")?;
        }
        writeln!(out, "{}", row[last])?;
    }
    Ok(())
}

/// Describes the differences between the APIs.
fn abilities(can: &Capabilities) -> String {
    let words = [
        (can.tools && can.parallel_tools, "tools"),
        (can.tools && !can.parallel_tools, "one tool at a time"),
        (can.tools && !can.call_ids, "ids made here"),
        (can.reasoning && can.reasoning_return, "reasoning both ways"),
        (can.reasoning && !can.reasoning_return, "reasoning"),
        (
            !can.reasoning && can.reasoning_return,
            "reasoning sent back",
        ),
        (can.images, "images"),
        (can.audio, "audio"),
        (can.documents, "documents"),
        (can.structured_output, "schema"),
        (can.cache_marks, "cache marks"),
    ];
    let words = words.iter().filter(|(is, _)| *is);
    words.map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}
