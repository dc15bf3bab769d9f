//! The settings and their sources.

use crate::chat::model;
use crate::program::before;
use crate::run::{Ran, finish, stepwell};
use serde_json::{Value, json};
use std::path::PathBuf;
use stepwell_mock_llm::{Hop, Script};
use tempfile::TempDir;

/// A folder that is removed when the test ends.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        std::fs::create_dir(folder.path().join("stepwell")).expect("a folder");
        Self(folder)
    }

    fn with(self, text: &str) -> Self {
        std::fs::write(self.file(), text).expect("a file");
        self
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("stepwell/config.toml")
    }
}

fn config(arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = stepwell(&[&["config"], arguments].concat());
    command.envs(variables.iter().copied());
    finish(command, b"")
}

fn listed(arguments: &[&str], variables: &[(&str, &str)]) -> Value {
    let arguments = [&["--format", "json"], arguments].concat();
    config(&arguments, variables).succeeded().json()
}

#[track_caller]
#[allow(clippy::needless_pass_by_value)] // written in place
fn is(report: &Value, key: &str, value: Value, origin: Value) {
    let settings = report["settings"].as_array().expect("settings");
    let setting = settings.iter().find(|setting| setting["key"] == key);
    let setting = setting.unwrap_or_else(|| panic!("no `{key}` in {report}"));
    assert_eq!((&setting["value"], &setting["origin"]), (&value, &origin));
}

#[test]
fn flag_overrides_variable_overrides_file_overrides_default() {
    let folder = Folder::new().with(
        "model = \"of the file\"\nmax_tool_rounds = 3\ngrace = 4\nask_before = [\"a\", \"b\"]\n",
    );
    let file = folder.file().display().to_string();
    let report = listed(
        &["--config", &file, "--model", "of the flag"],
        &[
            ("STEPWELL_MODEL", "of the variable"),
            ("MAX_TOOL_ROUNDS", "5"),
            ("ENABLE_TOOL_CONTINUATION", "false"),
            ("STEPWELL_ALLOW_HOST", "one.example, two.example"),
        ],
    );
    let flag = |name: &str| json!({ "kind": "flag", "name": name });
    let variable = |name: &str| json!({ "kind": "environment", "name": name });
    let of_file = json!({ "kind": "file", "name": file });
    is(&report, "model", json!("of the flag"), flag("--model"));
    is(
        &report,
        "max_tool_rounds",
        json!(5),
        variable("MAX_TOOL_ROUNDS"),
    );
    is(
        &report,
        "enable_tool_continuation",
        json!(false),
        variable("ENABLE_TOOL_CONTINUATION"),
    );
    is(
        &report,
        "allow_host",
        json!(["one.example", "two.example"]),
        variable("STEPWELL_ALLOW_HOST"),
    );
    is(&report, "grace", json!(4), of_file.clone());
    is(&report, "ask_before", json!(["a", "b"]), of_file);
    is(
        &report,
        "max_runs",
        json!(1000),
        json!({ "kind": "default" }),
    );
    is(
        &report,
        "provider",
        Value::Null,
        json!({ "kind": "default" }),
    );
    assert_eq!(report["file"], json!({ "path": file, "isRead": true }));
}

#[test]
fn prefixed_variable_overrides_plain_one() {
    let report = listed(
        &[],
        &[("MAX_TOOL_ROUNDS", "5"), ("STEPWELL_MAX_TOOL_ROUNDS", "6")],
    );
    let origin = json!({ "kind": "environment", "name": "STEPWELL_MAX_TOOL_ROUNDS" });
    is(&report, "max_tool_rounds", json!(6), origin);
}

#[test]
fn user_file_is_read_and_working_directory_is_not() {
    let folder = Folder::new().with("grace = 77\n");
    std::fs::write(folder.0.path().join("stepwell.toml"), "grace = 1\n").expect("a file");
    std::fs::write(folder.0.path().join("config.toml"), "grace = 1\n").expect("a file");
    let mut command = stepwell(&["config"]);
    command
        .env("XDG_CONFIG_HOME", folder.0.path())
        .current_dir(folder.0.path());
    let ran = finish(command, b"").succeeded();
    let line = ran.out.lines().find(|line| line.starts_with("grace = "));
    let line = line.expect("a line");
    assert!(
        line.starts_with("grace = 77 ") && line.ends_with("stepwell/config.toml"),
        "{line}"
    );
}

#[test]
fn text_output_is_a_valid_file() {
    let printed = config(&["--model", "a \"model\"", "--mcp", "run 'it'"], &[])
        .succeeded()
        .out;
    let folder = Folder::new().with(&printed);
    let file = folder.file().display().to_string();
    let report = listed(&["--config", &file], &[]);
    let of_file = json!({ "kind": "file", "name": file });
    is(&report, "model", json!("a \"model\""), of_file.clone());
    is(&report, "mcp", json!(["run 'it'"]), of_file);
}

#[test]
fn no_secret_is_printed() {
    for format in ["text", "json"] {
        let ran = config(
            &[
                "--format",
                format,
                "--provider",
                "openai",
                "--mcp",
                "KEY=s3cret run --token s3cret",
            ],
            &[
                ("STEPWELL_SERVE_TOKEN", "s3cret"),
                (
                    "STEPWELL_BASE_URL",
                    "https://me:s3cret@proxy.example/v1?api_key=s3cret",
                ),
                ("OPENAI_API_KEY", "s3cret"),
            ],
        );
        let out = ran.succeeded().out;
        assert!(!out.contains("s3cret"), "{out}");
        assert!(
            out.contains("proxy.example") && out.contains("OPENAI_API_KEY"),
            "{out}"
        );
        assert!(out.contains("***"), "{out}");
    }
}

#[test]
fn wrong_name_or_value_is_refused_with_its_place() {
    for (text, expected) in [
        (
            "model = \"m\"\nmodle = \"m\"\n",
            "line 2, column 1: `modle` is no setting: is `model` meant?",
        ),
        (
            "max_runs = \"many\"\n",
            "line 1, column 12: invalid value 'many' for '--max-runs <N>'",
        ),
        (
            "listen = \"here\"\n",
            "line 1, column 10: invalid value 'here' for '--listen <ADDRESS:PORT>': invalid socket address",
        ),
        (
            "token = \"\"\n",
            "invalid value '' for '--token <TOKEN>': it is empty",
        ),
    ] {
        let folder = Folder::new().with(text);
        let file = folder.file().display().to_string();
        let ran = config(&["--config", &file], &[]);
        let line = ran.failed(2);
        assert!(line.starts_with(&file) && line.contains(expected), "{line}");
    }
    for (variable, value, expected) in [
        (
            "MAX_TOOL_ROUNDS",
            "ten",
            "environment variable MAX_TOOL_ROUNDS: invalid value 'ten' for '--max-tool-rounds <N>'",
        ),
        (
            "STEPWELL_MAX_TOOL_ROUNDS",
            "-1",
            "environment variable STEPWELL_MAX_TOOL_ROUNDS",
        ),
        (
            "STEPWELL_ENABLE_TOOL_CONTINUATION",
            "perhaps",
            "STEPWELL_ENABLE_TOOL_CONTINUATION",
        ),
        (
            "STEPWELL_AT_LIMIT",
            "stop",
            "invalid value 'stop' for '--at-limit <AT_LIMIT>' [possible values: fail, complete, sum-up]",
        ),
        (
            "STEPWELL_SERVE_TOKEN",
            "",
            "STEPWELL_SERVE_TOKEN: invalid value '' for '--token <TOKEN>': it is empty",
        ),
        (
            "STEPWELL_SERVE_TOKNE",
            "s3cret",
            "environment variable `STEPWELL_SERVE_TOKNE` is no setting: is `STEPWELL_SERVE_TOKEN` meant?",
        ),
        (
            "STEPWELL_CONFIG",
            "no/such/file.toml",
            "no/such/file.toml: ",
        ),
    ] {
        let ran = config(&[], &[(variable, value)]);
        let line = ran.failed(2);
        assert!(line.contains(expected), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_takes_model_and_limits_from_settings() {
    let script = Script::new()
        .hop(
            Hop::new()
                .text("One moment.")
                .tool_call("calculator", json!({ "expression": "1 + 1" })),
        )
        .hop(Hop::new().text("It is 2."));
    let model = model(script).await;
    let folder = Folder::new().with(&format!(
        "provider = \"openai-compatible\"\nmodel = \"of the file\"\nbase_url = \"{}\"\ninstructions = \"Be brief.\"\n",
        model.base_url()
    ));
    let mut command = stepwell(&["chat"]);
    command.env("STEPWELL_CONFIG", folder.file());
    command.env("ENABLE_TOOL_CONTINUATION", "false");
    let ran = finish(command, b"What is 1 + 1?\n").succeeded();
    assert!(ran.out.contains("✓ calculator"), "{}", ran.out);
    assert!(!ran.out.contains("It is 2."), "{}", ran.out);
    let requests = model.requests();
    assert_eq!(requests.len(), 1, "the turn does not go on after its tools");
    assert_eq!(requests[0].body["model"], "of the file");
    assert_eq!(requests[0].body["messages"][0]["content"], "Be brief.");
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_from_environment_is_enforced() {
    let call = || Hop::new().tool_call("calculator", json!({ "expression": "1 + 1" }));
    let model = model(Script::new().hop(call()).hop(call())).await;
    let base_url = model.base_url();
    let provider = before("openai-compatible", &base_url);
    let mut command = stepwell(&[&["chat"], &provider[..]].concat());
    command.env("MAX_TOOL_ROUNDS", "1");
    let ran = finish(command, b"?\n");
    assert!(ran.err.contains("limit of tool rounds, 1"), "{}", ran.err);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn model_without_provider_is_refused() {
    for command in ["chat", "serve"] {
        let ran = finish(stepwell(&[command, "--model", "m"]), b"");
        assert!(ran.failed(2).contains("--model is of a provider"));
    }
}

#[test]
fn guide_lists_every_setting_with_variables_and_default() {
    let report = listed(&[], &[]);
    let guide = include_str!("../../../docs/guides/settings.md");
    for setting in report["settings"].as_array().expect("settings") {
        let key = setting["key"].as_str().expect("a key");
        let variables = setting["variables"].as_array().expect("variables");
        let variables: Vec<_> = variables
            .iter()
            .map(|name| format!("`{}`", name.as_str().unwrap()))
            .collect();
        let default = match &setting["value"] {
            Value::Null => String::new(),
            Value::Array(values) if values.is_empty() => String::new(),
            Value::String(text) => format!(" `{text}`"),
            other => format!(" `{other}`"),
        };
        let row = format!("| `{key}` | {} |{default} |", variables.join(", "));
        assert!(
            guide.contains(&row),
            "docs/guides/settings.md has no row that begins with: {row}"
        );
    }
}
