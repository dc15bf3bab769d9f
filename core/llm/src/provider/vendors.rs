/// Returns the vendor of a model and the vendor's name for the model. A gateway such as OpenRouter puts the vendor in
/// front of the model's name, and Bedrock a region before it.
pub(super) fn vendor_and_model<'a>(provider: &'a str, model: &'a str) -> (&'a str, &'a str) {
    match (provider, model.split_once('/')) {
        ("openrouter", Some((vendor, model))) => {
            let vendor = match vendor {
                "google" => "gemini",
                "mistralai" => "mistral",
                other => other,
            };
            (vendor, model)
        }
        ("vertex", _) => ("gemini", model),
        // `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, also at the end of an ARN.
        ("bedrock", _) => match model.split_once("anthropic.") {
            Some((_, model)) => ("anthropic", model),
            None => (provider, model),
        },
        _ => (provider, model),
    }
}
