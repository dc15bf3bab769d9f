/// Returns the vendor of a model and the vendor's name for the model. A gateway such as OpenRouter puts the vendor in
/// front of the model's name.
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
        _ => (provider, model),
    }
}
