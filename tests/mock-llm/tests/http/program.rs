//! The `mock-llm` program.
#![cfg(feature = "cli")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::client::{json_of, post, question};

struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mock-llm"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            stdin,
            stdout,
        }
    }

    fn write(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("still open");
        stdin.write_all(text.as_bytes()).expect("the program reads");
        stdin.flush().expect("the program reads");
    }

    fn addresses(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line:?}"))
    }

    /// Closes standard input and waits for the end.
    fn end(&mut self) -> (bool, String, String) {
        self.stdin = None;
        let mut texts = (String::new(), String::new());
        self.stdout.read_to_string(&mut texts.0).expect("text");
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut texts.1).expect("text");
        (
            self.child.wait().expect("it ends").success(),
            texts.0,
            texts.1,
        )
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The process has ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn ask(addresses: &Value) -> String {
    let url = format!(
        "{}/chat/completions",
        addresses["base_url"].as_str().unwrap()
    );
    post(&url, question().to_string())
        .await
        .text()
        .await
        .unwrap()
}

#[tokio::test]
async fn without_a_script_it_plays_the_secret_numbers_until_stdin_closes() {
    let mut program = Program::start(&[]);
    let addresses = program.addresses();
    assert!(addresses["ag_ui_url"].as_str().unwrap().ends_with("/ag-ui"));
    assert!(ask(&addresses).await.contains("get_secret_number"));
    assert!(
        ask(&addresses).await.contains("get_secret_number"),
        "it repeats"
    );
    let url = addresses["base_url"]
        .as_str()
        .unwrap()
        .replace("/v1", "/__requests");
    let requests = json_of(crate::client::client().get(url).send().await.unwrap()).await;
    assert_eq!(requests[1]["body"], question());
    assert_eq!(program.end(), (true, String::new(), String::new()));
}

#[tokio::test]
async fn a_dash_reads_the_script_from_stdin_and_leaves_it_open() {
    let mut program = Program::start(&["-", "--piece-delay-ms", "0"]);
    program.write(&json!({"hops": [{"steps": [{"text": "Hello"}]}]}).to_string());
    let addresses = program.addresses();
    assert!(ask(&addresses).await.contains("Hello"));
    program.write("more is ignored");
    assert!(ask(&addresses).await.contains("script_used_up"));
    assert!(program.end().0);
}

#[tokio::test]
async fn a_file_is_a_script_too() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("mock-llm-script.json");
    std::fs::write(
        &path,
        r#"{"hops": [{"steps": [{"text": "From a file"}], "pieces": 99}]}"#,
    )
    .unwrap();
    let mut program = Program::start(&[path.to_str().unwrap()]);
    assert!(ask(&program.addresses()).await.contains("From a file"));
    assert!(program.end().0);
}

#[test]
fn what_is_wrong_is_said_on_stderr() {
    for (arguments, stdin, expected) in [
        (
            &["-"][..],
            "{\"hops\": 1}",
            "mock-llm: the script cannot be read: ",
        ),
        (&["-"], "", "mock-llm: the script cannot be read: "),
        (
            &["/nowhere.json"],
            "",
            "mock-llm: cannot read the script /nowhere.json: ",
        ),
    ] {
        let mut program = Program::start(arguments);
        if !stdin.is_empty() {
            program.write(stdin);
        }
        let (success, stdout, stderr) = program.end();
        assert!(!success && stdout.is_empty());
        assert!(stderr.starts_with(expected), "{stderr}");
    }
}
