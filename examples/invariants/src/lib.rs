//! An assistant of a bank: how its runs are set up.

use serde_json::json;
use stepwell_core::Usd;
use stepwell_core::provider::{self, ModelPrice};
use stepwell_core::run::{Durability, RunConfig};
use stepwell_core::tool::Tool;

/// Runs that read balances, and transfer money once the user has allowed it.
///
/// # Panics
/// Never: the provider is one of the table's, and the tools are sound.
#[must_use]
pub fn config() -> RunConfig {
    let provider = provider::find("anthropic").expect("it is in the table");
    let key = Some("sk-ant-…".into());
    let mut endpoint = provider
        .endpoint(None, "claude-sonnet-4-5", None, key)
        .expect("nothing is missing");
    endpoint.quirks.price = Some(ModelPrice::new(
        Usd::from_nanos(3_000),
        Usd::from_nanos(15_000),
    ));
    let mut config = RunConfig::new(endpoint);
    let transfer = json!({
        "type": "object",
        "properties": {
            "amount": {"type": "integer", "minimum": 1, "maximum": 100},
            "to": {"type": "string"},
        },
        "required": ["amount", "to"],
    });
    for tool in [
        Tool::new("balance", "The balance of the account.").idempotent(),
        Tool::new("transfer", "Transfers money.")
            .parameters(transfer)
            .requires_approval(),
    ] {
        config.tools = config.tools.register(tool).expect("a sound tool");
    }
    config.limits.max_tool_rounds = 4;
    config.limits.max_tool_calls = Some(6);
    config.durability = Durability::Blocks { attempts: 3 };
    config
}
