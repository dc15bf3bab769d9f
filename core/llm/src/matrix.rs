use crate::dialect::asks_natively;
use crate::provider::{Api, Capabilities, Provider};
use std::fmt::Write;

/// A column: its head, and what it asks of an API.
type Column = (&'static str, fn(&Capabilities) -> bool);

const COLUMNS: [Column; 10] = [
    ("streams", |can| can.streaming),
    ("parallel calls", |can| can.tools && can.parallel_tools),
    ("reasoning shown", |can| can.reasoning),
    ("reasoning sent back", |can| can.reasoning_return),
    ("images", |can| can.images),
    ("audio", |can| can.audio),
    ("documents", |can| can.documents),
    ("JSON Schema", |can| can.structured_output),
    ("cache marks", |can| can.cache_marks),
    ("usage", |can| can.usage),
];

/// Returns what the providers' APIs can do, as a table in Markdown.
#[must_use]
pub fn matrix_markdown<'a>(providers: impl IntoIterator<Item = &'a Provider>) -> String {
    let mut table = "| provider | API | format | call ids |".to_owned();
    for (head, _) in COLUMNS {
        // A string takes all.
        let _ = write!(table, " {head} |");
    }
    table.push_str(" typed answers |\n|---|---|---|---|");
    table.push_str(&":-:|".repeat(COLUMNS.len()));
    table.push_str("---|");
    table.push('\n');
    for provider in providers {
        for api in provider.apis.iter() {
            let can = &api.capabilities;
            let ids = match (can.tools, can.call_ids) {
                (true, true) => "given",
                (true, false) => "made here, unless given",
                (false, _) => "",
            };
            let is_default = api.name == provider.default_api && provider.apis.len() > 1;
            let default = if is_default { " (default)" } else { "" };
            let _ = write!(
                table,
                "| {} | `{}`{default} | `{}` | {ids} |",
                provider.name,
                api.name,
                api.dialect.name(),
            );
            for (_, can_do) in COLUMNS {
                table.push_str(if can_do(can) { " ✓ |" } else { " |" });
            }
            let _ = writeln!(table, " {} |", typed_answers(provider, api));
        }
    }
    table
}

/// Returns how a typed answer is asked for, if the provider's schemas say all that its type does.
fn typed_answers(provider: &Provider, api: &Api) -> &'static str {
    let endpoint = provider.endpoint(Some(&api.name), "model", Some("http://localhost"), None);
    match endpoint.map(|endpoint| asks_natively(&endpoint)) {
        Ok([true, true]) => "schema",
        Ok([true, false]) => "schema; beside tools a final tool",
        _ => "final tool",
    }
}
