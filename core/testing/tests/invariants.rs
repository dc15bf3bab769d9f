//! All invariants, over a configuration of each dialect.

use serde_json::json;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::RunConfig;
use stepwell_core::tool::Tool;
use stepwell_testing::{InvariantCheck, Tools, config};

fn with_tools(dialect: Dialect) -> RunConfig {
    let mut config = config(dialect);
    let trip = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer",
        "minimum": 1}}, "required": ["city"]});
    for tool in [
        Tool::new("weather", "The weather.").parameters(trip.clone()),
        Tool::new("read", "Reads.").idempotent(),
        Tool::new("pay", "Pays.")
            .parameters(trip)
            .requires_approval(),
    ] {
        config.tools = config.tools.register(tool).expect("a sound tool");
    }
    config
}

fn holds_in(dialect: Dialect) {
    let tools = Tools::new()
        .on("weather", |call| {
            Ok(format!("sunny: {}", call.arguments.raw).into())
        })
        .on("pay", |_| Ok("paid".into()));
    let mut check = InvariantCheck::new(&with_tools(dialect)).tools(tools);
    // A share; `cargo xtask prove proptests` sets the number.
    if std::env::var_os("PROPTEST_CASES").is_none() {
        check = check.cases(40);
    }
    if let Err(failure) = check.run() {
        panic!("{failure}");
    }
}

macro_rules! dialects {
    ($($name:ident: $dialect:ident,)*) => {
        $(#[test] fn $name() { holds_in(Dialect::$dialect); })*
    };
}

dialects! {
    holds_for_openai_chat: OpenAiChat,
    holds_for_openai_responses: OpenAiResponses,
    holds_for_mistral: Mistral,
    holds_for_cohere: Cohere,
    holds_for_gemini: Gemini,
    holds_for_gemini_interactions: GeminiInteractions,
    holds_for_ollama: Ollama,
    holds_for_anthropic: Anthropic,
    holds_for_ag_ui: AgUi,
}
