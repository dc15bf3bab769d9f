use crate::run::{Ran, finish, run, stepwell};

const STREAM: &[u8] =
    b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[track_caller]
fn refused(arguments: &[&str], expected: &str) {
    let ran = run(arguments, STREAM);
    assert_eq!(ran.out, "");
    let line = ran.failed(2);
    assert!(line.contains(expected), "{line}");
}

#[test]
fn what_cannot_be_asked_for_is_said_in_one_line() {
    refused(&["frobnicate"], "unrecognized subcommand 'frobnicate'");
    refused(&["demo", "--jso"], "unexpected argument '--jso' found");
    refused(&["serve", "--port", "1"], "try `stepwell serve --help`");
    refused(&["chat", "--store"], "try `stepwell --help`");
    refused(&["--log-format", "xml"], "invalid value 'xml'");
    refused(&["decode"], "--provider <PROVIDER>");
    refused(
        &["decode", "--provider", "opanai"],
        "there is no provider `opanai`",
    );
    refused(
        &["decode", "--provider", "openai", "--api", "telepathy"],
        "openai has no API `telepathy`",
    );
    refused(
        &["decode", "--provider", "openai", "--chunk", "0"],
        "invalid value '0' for '--chunk <BYTES>'",
    );
    refused(
        &["decode", "--provider", "openai", "no/such/file.sse"],
        "no/such/file.sse: ",
    );
    refused(&["decode", "--provider", "openai", "."], "is a directory");
    refused(
        &["bench", "--provider", "openai", "no/such/file.sse"],
        "no/such/file.sse: ",
    );
    refused(
        &["chat", "--provider", "openai-compatible", "--model", "m"],
        "--base-url",
    );
    refused(
        &[
            "chat",
            "--provider",
            "ollama",
            "--model",
            "m",
            "--base-url",
            "localhost:1",
        ],
        "`localhost:1` is not a base URL",
    );
    refused(&["chat", "--provider", "ollama"], "--model");
}

#[test]
fn a_load_that_cannot_be_is_refused_before_anything_is_asked() {
    let agent = "http://127.0.0.1:1/agent";
    refused(&["load"], "<URL>");
    refused(
        &["load", "127.0.0.1:8000"],
        "`127.0.0.1:8000` is no address of a server",
    );
    refused(&["load", "ftp://localhost/agent"], "it is not of http");
    refused(
        &["load", agent, "--runs", "0"],
        "invalid value '0' for '--runs <N>'",
    );
    refused(
        &["load", agent, "--steps", "1,x"],
        "invalid value 'x' for '--steps",
    );
    refused(
        &["load", agent, "--runs", "2", "--steps", "1,2"],
        "cannot be used with",
    );
    refused(&["load", agent, "--words", "20"], "--model <ADDRESS:PORT>");
    refused(&["load", agent, "--followers", "2"], "are for sessions");
    refused(
        &["load", agent, "--json", "no/such/folder/load.json"],
        "no/such/folder/load.json: ",
    );
    refused(
        &["load", agent, "--picture", "no/such/folder/load.svg"],
        "no/such/folder/load.svg: ",
    );
}

#[test]
fn an_argument_cannot_add_lines_to_the_error() {
    refused(&["decode", "--provider", "a\nb\u{1b}[2J"], "`a b [2J`");
}

#[test]
fn a_log_filter_that_is_none_is_a_mistake() {
    let mut command = stepwell(&["providers"]);
    command.env("STEPWELL_LOG", "stepwell=loud");
    let ran = finish(command, b"");
    assert!(ran.failed(2).contains("STEPWELL_LOG: `stepwell=loud`"));
}

#[test]
fn a_server_for_everybody_is_refused_unless_it_is_meant() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        refused(&["serve", "--listen", listen], "--insecure");
    }
}

#[test]
fn what_cannot_guard_a_server_is_refused() {
    let issuer = ["serve", "--jwt-issuer", "https://issuer.example"];
    let keys = |place: &'static str| [&issuer[..], &["--jwt-keys", place]].concat();
    refused(
        &["serve", "--tokens", "no/such/file"],
        "tokens: no/such/file: ",
    );
    refused(&issuer, "jwt_keys");
    refused(&["serve", "--jwt-audience", "me"], "jwt_issuer");
    refused(&["serve", "--jwt-keys", "keys.json"], "jwt_issuer");
    refused(&keys("no/such/keys.json"), "jwt_keys: ");
    refused(&keys("http://me:s3cret@issuer.example/keys"), "https://");
    refused(&["serve", "--user-runs", "0"], "invalid value '0'");
    refused(&["serve", "--user-requests", "0"], "invalid value '0'");
    for name in ["TOKENS", "JWT_ISSUER", "JWT_AUDIENCE", "JWT_KEYS"] {
        let variable = format!("STEPWELL_{name}");
        let mut command = stepwell(&["serve"]);
        command.env(&variable, "");
        let ran = finish(command, b"");
        let line = ran.failed(2);
        assert!(
            line.contains(&variable) && line.contains("it is empty"),
            "{line}"
        );
    }
}

#[test]
fn a_token_is_not_made_for_a_name_that_cannot_be_read_again() {
    for name in ["", "two words", "#alice", "a\u{7}"] {
        refused(&["token", name], "name");
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [&["--help"][..], &["--version"], &["decode", "--help"]] {
        assert!(!run(arguments, b"").succeeded().out.is_empty());
    }
}

#[test]
fn the_providers_are_listed_with_their_keys() {
    let Ran { out, .. } = run(&["providers"], b"").succeeded();
    let openai = out.lines().find(|line| line.starts_with("openai "));
    let openai = openai.expect("a line for openai");
    assert!(openai.contains("OPENAI_API_KEY") && openai.contains("https://api.openai.com/v1"));
    assert!(out.lines().any(|line| line.starts_with("ag-ui ")));
}

#[test]
fn help_says_what_to_try_and_has_groups() {
    let Ran { out, .. } = run(&["--help"], b"").succeeded();
    for words in [
        "Try, without a key:",
        "stepwell chat ",
        "stepwell serve ",
        "stepwell load ",
        "completions",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let Ran { out, .. } = run(&["serve", "--help"], b"").succeeded();
    let headings: Vec<_> = out
        .lines()
        .filter(|line| !line.starts_with(' ') && line.ends_with(':'))
        .collect();
    assert_eq!(
        headings,
        [
            "Options:",
            "Model:",
            "Long conversations:",
            "Limits of a turn:",
            "Tools:",
            "Sessions:",
            "Many machines:",
            "Server:",
            "Access to the server:",
            "Limits of the server:",
            "Every command:",
        ],
        "{out}"
    );
}

#[test]
fn each_shell_has_its_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let Ran { out, .. } = run(&["completions", shell], b"").succeeded();
        for word in ["agui", "ask-before", "max-tool-rounds"] {
            assert!(out.contains(word), "{shell} has no {word}");
        }
    }
    refused(&["completions", "tcsh"], "invalid value 'tcsh'");
}

#[test]
fn a_store_that_cannot_be_meant_is_refused() {
    refused(
        &["serve", "--store", "sqlite:turns.db?max_byte=1"],
        "a store in a file has no parameter `max_byte`",
    );
    refused(
        &["serve", "--store", "sqlite:turns.db?max_bytes=many"],
        "`many` is no number of bytes",
    );
    let no_folder = run(&["serve", "--store", "sqlite:no-such-folder/turns.db"], b"");
    let line = no_folder.failed(1);
    assert!(
        line.contains("there is no folder `no-such-folder`"),
        "{line}"
    );
    let memory = run(&["serve", "--store", "sqlite::memory:"], b"");
    assert!(memory.failed(1).contains("`:memory:` is no file"));
    let mistyped = "postgres://u:password@127.0.0.1/d?ssl_mode=require";
    let mistyped = run(&["serve", "--store", mistyped], b"");
    let line = mistyped.failed(1);
    assert!(line.contains("has no parameter `ssl_mode`"), "{line}");
    assert!(!line.contains("password@"), "{line}");
}
