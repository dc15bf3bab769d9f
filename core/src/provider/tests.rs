use super::*;
use std::collections::BTreeSet;

#[test]
fn every_provider_can_be_found_and_has_its_default_api() {
    let mut names = BTreeSet::new();
    for provider in all() {
        assert!(names.insert(provider.name), "{} comes twice", provider.name);
        assert_eq!(find(provider.name), Ok(provider));
        let api = provider.api(None).expect("the default API exists");
        assert_eq!(provider.api(Some(api.name)), Ok(api));
        assert!(
            api.base_url.is_none_or(|url| !url.ends_with('/')),
            "{}",
            provider.name
        );
    }
}

#[test]
fn errors_name_what_there_is() {
    assert_eq!(
        find("opanai").expect_err("unknown").to_string(),
        "there is no provider `opanai`; there are: openai, openrouter, groq, together, fireworks, nvidia, ollama, \
         openai-compatible, ag-ui"
    );
    let openai = find("openai").expect("known");
    assert_eq!(
        openai
            .api(Some("messages"))
            .expect_err("unknown")
            .to_string(),
        "openai has no API `messages`; it has: chat"
    );
}

fn endpoint(
    provider: &str,
    model: &str,
    base_url: Option<&str>,
    key: Option<&str>,
) -> Result<Endpoint, EndpointError> {
    find(provider)
        .expect("known")
        .endpoint(None, model, base_url, key.map(Secret::from))
}

#[test]
fn an_endpoint_has_what_the_provider_needs() {
    let made = endpoint("openrouter", "m", None, Some("k")).expect("complete");
    assert_eq!(made.provider, "openrouter");
    assert_eq!(made.base_url, "https://openrouter.ai/api/v1");
    assert_eq!(made.model, "m");
    assert_eq!(
        made.quirks.reasoning,
        crate::dialect::ReasoningReturn::Details
    );

    for key in [None, Some("")] {
        assert_eq!(
            endpoint("groq", "m", None, key)
                .expect_err("no key")
                .to_string(),
            "groq needs an API key; by custom it is in GROQ_API_KEY"
        );
    }
    assert_eq!(
        endpoint("groq", "", None, Some("k"))
            .expect_err("no model")
            .to_string(),
        "name a model for groq"
    );
    assert_eq!(
        endpoint("openai-compatible", "m", None, None)
            .expect_err("no address")
            .to_string(),
        "openai-compatible has no address of its own: give a base URL, such as http://localhost:8000/v1"
    );
    assert_eq!(
        endpoint("ollama", "m", Some("localhost:11434"), None)
            .expect_err("no scheme")
            .to_string(),
        "`localhost:11434` is not a base URL: it must begin with http:// or https://"
    );
}

#[test]
fn a_local_server_or_a_proxy_needs_no_key_and_an_agent_no_model() {
    assert!(endpoint("ollama", "m", None, None).is_ok());
    assert!(endpoint("openai", "m", Some("HTTP://localhost:1"), None).is_ok());
    let agent = endpoint("ag-ui", "", Some("https://x/agent/"), None).expect("complete");
    assert_eq!(agent.base_url, "https://x/agent/");
    assert_eq!(agent.dialect, Dialect::AgUi);
}
