use crate::file::File;
use crate::run::{finish, run, stepwell};
use serde_json::Value;

#[test]
fn the_providers_are_data_too() {
    let all = run(&["providers", "--format", "json"], b"")
        .succeeded()
        .json();
    let all = all.as_array().expect("a list");
    let anthropic = all.iter().find(|provider| provider["name"] == "anthropic");
    let api = &anthropic.expect("it is there")["apis"][0];
    assert_eq!(api["dialect"], "anthropic");
    assert_eq!(api["key_header"]["name"], "x-api-key");
    assert_eq!(api["capabilities"]["cache_marks"], true);
}

#[test]
fn the_guide_has_the_table() {
    let table = run(&["providers", "--format", "markdown"], b"")
        .succeeded()
        .out;
    assert!(
        include_str!("../../../docs/guides/providers.md").contains(&table),
        "{table}"
    );
}

#[test]
fn a_file_adds_providers_in_json_and_in_toml() {
    let json =
        r#"{"providers": [{"name": "mine", "dialect": "openai-chat", "base_url": "http://x/v1"}]}"#;
    let toml =
        "[[providers]]\nname = \"mine\"\ndialect = \"openai-chat\"\nbase_url = \"http://x/v1\"\n";
    for (name, text) in [("good.json", json), ("good.toml", toml)] {
        let file = File::with(name, text);
        let path = file.as_str();
        let listed = ["providers", "--format", "json", "--providers", path];
        let all = run(&listed, b"").succeeded().json();
        let last = all.as_array().and_then(|all| all.last()).expect("one");
        assert_eq!(last["name"], "mine");
        let mut command = stepwell(&["decode", "--provider", "mine"]);
        command.env("STEPWELL_PROVIDERS", path);
        let body =
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
        let decoded: Value = finish(command, body.as_bytes()).succeeded().json();
        assert_eq!(decoded["text"], "Hi");
        let demo = ["demo", "--json", "--provider", "mine", "--providers", path];
        run(&demo, b"").succeeded();
    }
}

#[test]
fn a_mistake_in_the_file_is_found_where_it_is() {
    for (name, text, wanted) in [
        (
            "bad.json",
            "{\n \"providers\": [{\"name\": 1}]}",
            "line 2 column",
        ),
        ("bad.toml", "[[providers]]\nname = 1\n", "line 2, column 8"),
        (
            "taken.json",
            r#"{"providers": [{"name": "groq", "dialect": "ollama"}]}"#,
            "providers[0] (`groq`): there is a provider of this name already",
        ),
    ] {
        let file = File::with(name, text);
        let ran = run(&["--providers", file.as_str(), "providers"], b"");
        let line = ran.failed(2);
        assert!(line.contains(wanted) && line.contains(name), "{line}");
    }
}
