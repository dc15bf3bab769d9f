//! The program, serving, and requests to it.

use crate::program::{before, stepwell};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use stepwell_mock_llm::MockLlm;

/// The program as a server. It ends when this is dropped.
pub(crate) struct Server {
    child: Child,
    url: String,
    client: Client,
}

impl Server {
    /// With the scripted model behind it.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, None)
    }

    /// With this model behind it.
    pub(crate) fn before(model: &MockLlm, arguments: &[&str]) -> Self {
        Self::before_url(&model.base_url(), arguments)
    }

    /// The same, with the log that a server has by default.
    pub(crate) fn before_with(model: &MockLlm, arguments: &[&str], stderr: Stdio) -> Self {
        Self::spawn(&Self::arguments(&model.base_url(), arguments), None, stderr)
    }

    pub(crate) fn before_url(url: &str, arguments: &[&str]) -> Self {
        Self::start(&Self::arguments(url, arguments))
    }

    fn arguments<'a>(url: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
        [&before("openai-compatible", url), arguments].concat()
    }

    pub(crate) fn start_with(arguments: &[&str], variable: Option<(&str, &str)>) -> Self {
        Self::spawn(arguments, variable, Stdio::inherit())
    }

    /// With a log of this kind.
    pub(crate) fn start_logged(arguments: &[&str], log: &str, stderr: Stdio) -> Self {
        Self::spawn(arguments, Some(("STEPWELL_LOG", log)), stderr)
    }

    fn spawn(arguments: &[&str], variable: Option<(&str, &str)>, stderr: Stdio) -> Self {
        let mut command = stepwell(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(arguments);
        command.envs(variable);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let url = line.trim().strip_prefix("AG-UI agent at ");
        let url = url.unwrap_or_else(|| panic!("the program says `{line}`"));
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            child,
            url: url.to_owned(),
            client: Client::new(),
        }
    }

    pub(crate) fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().expect("a pipe")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The address without a path: `127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> &str {
        self.url
            .trim_start_matches("http://")
            .trim_end_matches("/agent")
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = method.parse().expect("a method");
        let url = format!("http://{}{path}", self.address());
        self.client.request(method, url)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request("GET", path).send().await.expect("an answer")
    }

    /// A run, as any client posts it.
    pub(crate) fn post(&self, input: &Value) -> RequestBuilder {
        let request = self.request("POST", "/agent");
        let request = request.header("content-type", "application/json");
        request
            .header("accept", "text/event-stream")
            .body(input.to_string())
    }

    pub(crate) async fn run(&self, input: &Value) -> Response {
        self.post(input).send().await.expect("an answer")
    }

    /// Tells the program to stop, as an operator does.
    pub(crate) fn terminate(&self) {
        let id = self.id().to_string();
        let status = Command::new("kill").args(["-TERM", &id]).status();
        assert!(status.expect("kill is there").success());
    }

    /// Stops the program and returns its complete log. Its standard error must be a pipe. A program that is killed may
    /// not have written its last lines.
    pub(crate) async fn log(mut self) -> String {
        let stderr = self.stderr();
        self.terminate();
        let reading = tokio::task::spawn_blocking(move || std::io::read_to_string(stderr));
        reading.await.expect("it is read").expect("text")
    }

    /// Waits until the program has ended by itself.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        let waiting = tokio::task::spawn_blocking(move || self.child.wait());
        waiting.await.expect("it is waited for").expect("it ends")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A run on a thread of its own name with one question.
pub(crate) fn asks(run: &str, question: &str) -> Value {
    json!({
        "threadId": format!("thread-of-{run}"),
        "runId": run,
        "protocolVersion": "1.0",
        "messages": [{"id": format!("question-of-{run}"), "role": "user", "content": question}],
    })
}

/// The status and the code of a refusal, which has a sentence too.
pub(crate) async fn refusal(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    let body: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"));
    let error = &body["error"];
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|message| message.len() > 10),
        "{body}"
    );
    (status, error["code"].as_str().expect("a code").to_owned())
}
