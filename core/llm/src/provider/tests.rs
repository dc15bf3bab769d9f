use super::*;
use std::collections::BTreeSet;

#[test]
fn every_provider_can_be_found_and_has_its_default_api() {
    let mut names = BTreeSet::new();
    for provider in all() {
        assert!(
            names.insert(&provider.name),
            "{} comes twice",
            provider.name
        );
        assert_eq!(find(&provider.name), Ok(provider));
        let api = provider.api(None).expect("the default API exists");
        for api in provider.apis.iter() {
            assert_eq!(provider.api(Some(&api.name)), Ok(api));
            let url = api.base_url.as_deref();
            assert!(
                url.is_none_or(|url| !url.ends_with('/')),
                "{}",
                provider.name
            );
        }
        assert!(api.capabilities.streaming && api.capabilities.tools);
    }
}

#[test]
fn errors_name_what_there_is() {
    assert_eq!(
        find("opanai").expect_err("unknown").to_string(),
        "there is no provider `opanai`; there are: openai, openrouter, anthropic, gemini, mistral, cohere, groq, \
         together, fireworks, nvidia, ollama, azure, vertex, bedrock, openai-compatible, ag-ui"
    );
    let openai = find("openai").expect("known");
    assert_eq!(
        openai
            .api(Some("messages"))
            .expect_err("unknown")
            .to_string(),
        "openai has no API `messages`; it has: chat, responses"
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
            "groq needs an API key; it is usually in GROQ_API_KEY"
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
fn what_no_header_can_carry_is_refused() {
    for key in ["sk-key\n", "sk-\u{0}key", "sk-\rkey"] {
        let refused = endpoint("openai", "m", None, Some(key)).expect_err("no header has it");
        assert_eq!(
            refused.to_string(),
            "the key for openai holds a line break, or another character that no header can carry"
        );
    }
    let made = endpoint("openai", "m", None, Some("sk-key")).expect("complete");
    for (name, value) in [("a b", "c"), ("", "c"), ("x-team", "c\nd")] {
        let header = (name.to_owned(), value.to_owned());
        let refused = made.clone().with_headers([header]);
        assert_eq!(
            refused.expect_err("it is no header"),
            EndpointError::BadHeader {
                name: name.to_owned()
            }
        );
    }
    let header = ("x-team".to_owned(), "Blå\tlag".to_owned());
    let made = made.with_headers([header.clone()]).expect("a header");
    assert_eq!(made.headers, [header]);
}

#[test]
fn a_local_server_or_a_proxy_needs_no_key_and_an_agent_no_model() {
    assert!(endpoint("ollama", "m", None, None).is_ok());
    assert!(endpoint("openai", "m", Some("HTTP://localhost:1"), None).is_ok());
    let agent = endpoint("ag-ui", "", Some("https://x/agent/"), None).expect("complete");
    assert_eq!(agent.base_url, "https://x/agent/");
    assert_eq!(agent.dialect, Dialect::AgUi);
}

/// The table says how the key is sent; the encoders do it.
#[test]
fn the_key_goes_as_the_table_says() {
    use crate::dialect::{GenerationSettings, HopIds, ModelRequest};
    for provider in all() {
        for api in provider.apis.iter() {
            let url = Some("http://localhost/x");
            let key = Some(Secret::from("the-key"));
            let endpoint = provider
                .endpoint(Some(&api.name), "m", url, key)
                .expect("complete");
            let request = api.dialect.encoder().encode(&ModelRequest {
                endpoint: &endpoint,
                ids: &HopIds::default(),
                parent_run_id: None,
                instructions: None,
                messages: &[&crate::event::Message::user("u", "Hello")],
                tools: &[],
                state: &serde_json::Value::Null,
                settings: &GenerationSettings::default(),
                resume: &[],
                compact_above: None,
                now: crate::Timestamp(0),
            });
            if request.body == b"null" {
                // A dialect whose encoder is still to come.
                continue;
            }
            let KeyHeader { name, prefix, .. } = &api.key_header;
            let wanted = (name.to_string(), format!("{prefix}the-key"));
            assert!(
                request.headers.contains(&wanted),
                "{} {}",
                provider.name,
                api.name
            );
        }
    }
}

fn catalog(entry: &str) -> Result<Catalog, String> {
    let text = format!(r#"{{"providers": [{entry}]}}"#);
    Catalog::from_json(&text).map_err(|error| error.to_string())
}

#[test]
fn an_app_adds_a_provider_without_code() {
    let catalog = catalog(
        r#"{"name": "cloud", "dialect": "openai-chat", "base_url": "https://x.example/v1/",
            "key_variable": "AZURE_KEY", "key_header": {"name": "api-key"}, "headers": {"X-Team": "a"},
            "quirks": {"max_completion_tokens": true}, "capabilities": {"audio": true}},
           {"name": "local", "dialect": "ollama",
            "models": [{"name": "wise", "temperature": "never"}, {"name": "wise-mini", "least_effort": "never_thinks"}]}"#,
    )
    .expect("two good providers");
    assert_eq!(catalog.all().count(), all().len() + 2);
    let azure = catalog.find("cloud").expect("it was added");
    let made = azure
        .endpoint(None, "m", None, Some("k".into()))
        .expect("complete");
    assert_eq!(made.base_url, "https://x.example/v1");
    assert!(made.quirks.max_completion_tokens && made.quirks.no_developer_role);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        made.headers,
        [header("x-team", "a"), header("api-key", "k")]
    );
    assert_eq!(
        made.key, None,
        "the dialect's own header does not carry it too"
    );
    let can = azure.apis[0].capabilities;
    assert!(can.audio && can.tools && !can.documents);
    assert_eq!(
        azure
            .endpoint(None, "m", None, None)
            .expect_err("no key")
            .to_string(),
        "cloud needs an API key; it is usually in AZURE_KEY"
    );
    let local = catalog.find("local").expect("it was added");
    let rules = |model| {
        let made = local.endpoint(None, model, Some("http://localhost:1"), None);
        made.expect("complete").quirks.model
    };
    assert_eq!(
        rules("wise-2").map(|rules| rules.temperature),
        Some(TakesTemperature::Never)
    );
    assert_eq!(
        rules("wise-mini-2").map(|rules| rules.least_effort),
        Some(LeastEffort::NeverThinks)
    );
    assert_eq!(rules("other"), None);
    assert!(
        local
            .endpoint(None, "m", Some("http://localhost:1"), None)
            .is_ok()
    );
    assert!(local.endpoint(None, "m", None, None).is_err());
    assert!(
        catalog
            .find("elsewhere")
            .expect_err("unknown")
            .to_string()
            .ends_with("cloud, local")
    );
}

#[test]
fn a_mistake_in_an_apps_own_provider_is_found_where_it_is() {
    for (entry, wanted) in [
        (
            r#"{"name": "x"}"#,
            "missing field `dialect` at line 1 column",
        ),
        (
            r#"{"name": "x", "dialect": "openai"}"#,
            "unknown variant `openai`, expected one of `ag-ui`, `openai-chat`",
        ),
        (
            r#"{"name": "x", "dialect": "ollama", "baseurl": ""}"#,
            "unknown field `baseurl`, expected one of `name`",
        ),
        (
            r#"{"name": "groq", "dialect": "ollama"}"#,
            "providers[0] (`groq`): there is a provider of this name already",
        ),
        (
            r#"{"name": "a", "dialect": "ollama"}, {"name": "a", "dialect": "ollama"}"#,
            "providers[1] (`a`): there is",
        ),
        (
            r#"{"name": "a b", "dialect": "ollama"}"#,
            "a name is made of letters",
        ),
        (
            r#"{"name": "x", "dialect": "ollama", "base_url": "localhost:1"}"#,
            "`base_url`: `localhost:1` must begin with",
        ),
        (
            r#"{"name": "x", "dialect": "ollama", "quirks": {"reasons": 1}}"#,
            "no quirk `reasons`; there are: no_stream_options",
        ),
        (
            r#"{"name": "x", "dialect": "ollama", "quirks": {"reasoning": "twice"}}"#,
            "`quirks`: unknown variant `twice`",
        ),
        (
            r#"{"name": "x", "dialect": "ollama", "capabilities": {"tool": true}}"#,
            "unknown field `tool`",
        ),
        (
            r#"{"name": "x", "dialect": "ollama", "headers": {"a b": "c"}}"#,
            "`a b` is no name of a header",
        ),
        (
            r#"{"name": "x", "dialect": "ollama", "needs_key": true}"#,
            "`needs_key` without a `key_variable`",
        ),
    ] {
        let error = catalog(entry).expect_err(entry);
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn azures_key_is_in_its_header_and_a_token_in_the_usual_one() {
    const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJhdWQiOiJ4In0.c2ln";
    let own = |endpoint: &Endpoint| endpoint.headers.clone();
    let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let resource = Some("https://name.openai.azure.com");
    let with_key = endpoint("azure", "gpt-5", resource, Some("0123abcd")).expect("complete");
    assert_eq!(own(&with_key), header("api-key", "0123abcd"));
    assert_eq!(with_key.base_url, "https://name.openai.azure.com/openai/v1");
    let bearer = header("authorization", &format!("Bearer {TOKEN}"));
    let with_token = endpoint("azure", "gpt-5", resource, Some(TOKEN)).expect("complete");
    assert_eq!(own(&with_token), bearer);
    // As code of the app gives them before a request.
    assert_eq!(own(&with_key.with_key(TOKEN.into())), bearer);
    let again = with_token.with_key("0123abcd".into());
    assert_eq!(own(&again), header("api-key", "0123abcd"));
}

#[test]
fn clouds_name_what_they_need() {
    let refused = |provider, base_url| {
        let refused = endpoint(provider, "m", base_url, Some("k")).expect_err("no address");
        refused.to_string()
    };
    assert_eq!(
        refused("azure", None),
        "azure has no address of its own: give a base URL, such as https://NAME.openai.azure.com (usually in \
         AZURE_OPENAI_ENDPOINT)"
    );
    assert_eq!(
        refused("vertex", Some("my-project")),
        "`my-project` names no project of Vertex AI: write `projects/PROJECT/locations/LOCATION`, or a base URL"
    );
    assert_eq!(
        endpoint("azure", "m", None, None)
            .expect_err("no key")
            .to_string(),
        "azure needs an API key; it is usually in AZURE_OPENAI_API_KEY"
    );
}
