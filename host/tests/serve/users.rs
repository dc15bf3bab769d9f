//! Several users on one server: what is of one is not there for another.

use crate::file::File;
use crate::model::HeldModel;
use crate::server::{Server, asks, refusal};
use crate::stream::{Run, events, kinds, text};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A user of the server: a token that `stepwell token` has made.
pub(crate) struct User {
    pub(crate) token: String,
    line: String,
}

impl User {
    pub(crate) fn new(name: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stepwell"));
        let made = command.args(["token", name]).output().expect("it runs");
        assert!(made.status.success(), "{made:?}");
        let line = String::from_utf8(made.stdout).expect("text");
        let said = String::from_utf8(made.stderr).expect("text");
        let token = said.lines().last().expect("a token").to_owned();
        assert!(token.starts_with("stepwell_"), "{said}");
        assert!(line.starts_with(&format!("{name} sha256:")), "{line}");
        assert!(!line.contains(&token), "{line}");
        Self { token, line }
    }

    /// A client with this token, which is in no file.
    pub(crate) fn with(token: String) -> Self {
        let line = String::new();
        Self { token, line }
    }

    fn request(&self, server: &Server, method: &str, path: &str) -> RequestBuilder {
        server.request(method, path).bearer_auth(&self.token)
    }

    pub(crate) async fn call(
        &self,
        server: &Server,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Response {
        let mut request = self.request(server, method, path);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        request.send().await.expect("an answer")
    }

    async fn json(&self, server: &Server, path: &str) -> Value {
        let response = self.call(server, "GET", path, None).await;
        assert_eq!(response.status(), 200, "{path}");
        serde_json::from_str(&response.text().await.expect("text")).expect("JSON")
    }

    pub(crate) async fn begin(&self, server: &Server, thread: &str, turn: &str, message: &str) {
        let body = json!({ "turnId": turn, "message": message });
        let path = format!("/threads/{thread}/turns");
        let response = self.call(server, "POST", &path, Some(body)).await;
        assert_eq!(response.status(), 201, "{}", response.text().await.unwrap());
    }

    pub(crate) async fn follow(&self, server: &Server, thread: &str, turn: &str) -> Response {
        let path = format!("/threads/{thread}/turns/{turn}/events?protocolVersion=1.0");
        self.call(server, "GET", &path, None).await
    }

    pub(crate) async fn run(&self, server: &Server, input: &Value) -> Response {
        let request = server.post(input).bearer_auth(&self.token);
        request.send().await.expect("an answer")
    }

    async fn threads(&self, server: &Server) -> Vec<String> {
        let list = self.json(server, "/threads").await;
        let threads = list["threads"].as_array().expect("threads").iter();
        let ids = threads.map(|thread| thread["threadId"].as_str().expect("an id").to_owned());
        ids.collect()
    }
}

/// The file of these users' tokens.
pub(crate) fn tokens(folder: &File, users: &[&User]) -> PathBuf {
    let path = folder.path().with_file_name("tokens");
    let lines: String = users.iter().map(|user| user.line.as_str()).collect();
    std::fs::write(&path, lines).expect("a file");
    path
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("a path is text")
}

/// A server with two users.
struct Two {
    alice: User,
    bob: User,
    server: Server,
    _folder: File,
}

impl Two {
    fn start(name: &str, start: impl FnOnce(&[&str]) -> Server) -> Self {
        let folder = File::new(name);
        let (alice, bob) = (User::new("alice"), User::new("bob"));
        let tokens = tokens(&folder, &[&alice, &bob]);
        let server = start(&["--tokens", text_of(&tokens)]);
        Self {
            alice,
            bob,
            server,
            _folder: folder,
        }
    }
}

#[tokio::test]
async fn what_is_of_another_user_is_not_there() {
    let two = Two::start("not-there", Server::start);
    let (server, alice, bob) = (&two.server, &two.alice, &two.bob);
    // The call asks, and continues when it is answered.
    alice.begin(server, "t", "r", "change").await;
    let mut listener = Run::new(alice.follow(server, "t", "r").await);
    let question = loop {
        let event = listener.until("CUSTOM").await;
        if event["name"] == "interrupt" {
            break event["value"]["id"].clone();
        }
    };
    let answer = json!({ "resume": [
        { "interruptId": question, "status": "resolved", "payload": { "approved": true } },
    ] });
    let turn = "/threads/t/turns/r";
    let branch = json!({ "parent": "r", "message": "hello" });
    for (method, path, body, code) in [
        ("GET", "/threads/t", None, "no_thread"),
        ("GET", "/threads/t?turn=r", None, "no_thread"),
        ("GET", &*format!("{turn}/events"), None, "no_turn"),
        ("GET", &*format!("{turn}/journal"), None, "no_turn"),
        (
            "PATCH",
            "/threads/t",
            Some(json!({ "title": "mine" })),
            "no_thread",
        ),
        ("DELETE", "/threads/t", None, "no_thread"),
        (
            "POST",
            &*format!("{turn}/resume"),
            Some(answer.clone()),
            "no_turn",
        ),
        (
            "POST",
            &*format!("{turn}/cancel"),
            Some(json!({})),
            "no_turn",
        ),
        (
            "POST",
            &*format!("{turn}/acknowledge"),
            Some(json!({ "index": 0 })),
            "no_turn",
        ),
        ("POST", "/threads/t/turns", Some(branch), "no_turn"),
    ] {
        let refused = refusal(bob.call(server, method, path, body).await).await;
        assert_eq!(refused, (404, code.to_owned()), "{method} {path}");
    }
    assert_eq!(bob.threads(server).await, [""; 0]);
    assert_eq!(alice.threads(server).await, ["t"]);
    let view = alice.json(server, "/threads/t").await;
    assert_eq!(view["thread"]["title"], "change");
    assert_eq!(view["session"]["turns"][0]["status"], "streaming");
    let path = format!("{turn}/resume");
    let done = alice.call(server, "POST", &path, Some(answer)).await;
    assert_eq!(done.status(), 204);
    assert_eq!(kinds(&listener.rest().await).last(), Some(&"RUN_FINISHED"));
}

#[tokio::test]
async fn a_thread_of_the_same_id_is_another_thread() {
    let model = HeldModel::start().await;
    let two = Two::start("same-id", |arguments| {
        Server::before_url(&model.url, arguments)
    });
    let (server, alice, bob) = (&two.server, &two.alice, &two.bob);
    alice.begin(server, "t", "r", "of alice").await;
    let listener = alice.follow(server, "t", "r").await;
    model.asked().await;
    // The answer is the same as for a thread that does not exist: it does not reveal others' ids.
    bob.begin(server, "t", "r", "of bob").await;
    model.asked().await;
    model.answer();
    model.answer();
    assert_eq!(text(&events(listener).await), "At last.");
    let told = events(bob.follow(server, "t", "r").await).await;
    assert_eq!(text(&told), "At last.");
    for (user, said) in [(alice, "of alice"), (bob, "of bob")] {
        let view = user.json(server, "/threads/t").await;
        assert_eq!(view["thread"]["title"], said);
        assert_eq!(view["session"]["messages"][0]["content"], said);
        assert_eq!(view["turns"].as_array().map(Vec::len), Some(1));
    }
    let gone = alice.call(server, "DELETE", "/threads/t", None).await;
    assert_eq!(gone.status(), 204);
    assert_eq!(alice.threads(server).await, [""; 0]);
    assert_eq!(bob.threads(server).await, ["t"]);
}

#[tokio::test]
async fn pages_of_the_list_are_the_users_own() {
    let two = Two::start("pages", Server::start);
    let (server, alice, bob) = (&two.server, &two.alice, &two.bob);
    for number in 0..3 {
        for user in [alice, bob] {
            let thread = format!("{}-{number}", &user.line[..3]);
            user.begin(server, &thread, "r", "hello").await;
            events(user.follow(server, &thread, "r").await).await;
        }
    }
    let mut path = "/threads?limit=1".to_owned();
    let mut listed = Vec::new();
    loop {
        let page = bob.json(server, &path).await;
        let Some(next) = page["next"].as_str() else {
            break;
        };
        let thread = &page["threads"][0]["threadId"];
        listed.push(thread.as_str().expect("an id").to_owned());
        path = format!("/threads?limit=1&after={next}");
    }
    listed.sort();
    assert_eq!(listed, ["bob-0", "bob-1", "bob-2"]);
}

#[tokio::test]
async fn a_posted_run_is_its_users() {
    let model = HeldModel::start().await;
    let two = Two::start("runs", |arguments| {
        Server::before_url(&model.url, arguments)
    });
    let (server, alice, bob) = (&two.server, &two.alice, &two.bob);
    let first = alice.run(server, &asks("r", "?")).await;
    model.asked().await;
    // Of the same thread and run: it neither takes the place of the other one nor is refused for it.
    let second = bob.run(server, &asks("r", "?")).await;
    model.asked().await;
    model.answer();
    model.answer();
    for run in [first, second] {
        assert_eq!(text(&events(run).await), "At last.");
    }
}

#[tokio::test]
async fn what_a_posted_run_asks_is_for_its_user() {
    let two = Two::start("asked", Server::start);
    let (server, alice, bob) = (&two.server, &two.alice, &two.bob);
    let asked = events(alice.run(server, &asks("r", "change")).await).await;
    let end = asked.last().expect("an end");
    let question = &end["outcome"]["interrupts"][0]["id"];
    assert!(question.is_string(), "{end}");
    let mut answer = asks("r", "change");
    answer["runId"] = json!("next");
    answer["resume"] =
        json!([{ "interruptId": question, "status": "resolved", "payload": { "approved": true } }]);
    let refused = events(bob.run(server, &answer).await).await;
    let end = refused.last().expect("an end");
    assert_eq!(end["code"], "interrupt_unknown", "{end}");
    // The questions do not block another user, and stay for the user who is asked.
    let fresh = events(bob.run(server, &asks("r", "hello")).await).await;
    assert_eq!(kinds(&fresh).last(), Some(&"RUN_FINISHED"));
    let done = events(alice.run(server, &answer).await).await;
    assert_eq!(kinds(&done).last(), Some(&"RUN_FINISHED"), "{done:?}");
}

#[tokio::test]
async fn what_was_there_before_users_is_for_the_servers_own_token() {
    let folder = File::new("before-users");
    let store = folder.store();
    {
        let server = Server::start(&["--store", &store]);
        server.begin("old", "r", "hello").await;
        events(server.follow("old", "r", None).await).await;
    }
    let owner = User::with("open-sesame".to_owned());
    {
        let server = Server::start(&["--store", &store, "--token", &owner.token]);
        assert_eq!(owner.threads(&server).await, ["old"]);
    }
    let alice = User::new("alice");
    let tokens = tokens(&folder, &[&alice]);
    let both = ["--store", &store, "--token", &owner.token, "--tokens"];
    let server = Server::start(&[&both[..], &[text_of(&tokens)]].concat());
    assert_eq!(alice.threads(&server).await, [""; 0]);
    alice.begin(&server, "new", "r", "hello").await;
    assert_eq!(owner.threads(&server).await, ["old"]);
    assert_eq!(alice.threads(&server).await, ["new"]);
    let view = owner.json(&server, "/threads/old").await;
    assert_eq!(view["thread"]["title"], "hello");
    // The metrics are of all users.
    let metrics = alice.call(&server, "GET", "/metrics", None).await;
    assert_eq!(refusal(metrics).await, (403, "forbidden".to_owned()));
    let metrics = owner.call(&server, "GET", "/metrics", None).await;
    assert_eq!(metrics.status(), 200);
}

#[tokio::test]
async fn an_unknown_token_opens_nothing() {
    let two = Two::start("nobodys", Server::start);
    let longer = format!("{}A", two.alice.token);
    for token in ["", "alice", "a.b.c", &longer, &two.alice.line] {
        let request = two.server.request("GET", "/threads");
        let request = request.header("authorization", format!("Bearer {}", token.trim()));
        let response = request.send().await.expect("an answer");
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        assert_eq!(
            refusal(response).await,
            (401, "unauthorized".to_owned()),
            "{token}"
        );
    }
    let refused = refusal(two.server.get("/threads").await).await;
    assert_eq!(refused, (401, "unauthorized".to_owned()));
    // A page of another name cannot do without a token, and so may ask.
    let named = two.alice.request(&two.server, "GET", "/threads");
    let named = named.header("host", "stepwell.example").send().await;
    assert_eq!(named.expect("an answer").status(), 200);
}

/// A refusal of one too many, and after how many seconds there is room.
async fn too_many(response: Response) -> (String, u64) {
    let after = response.headers()["retry-after"].to_str().expect("text");
    let after = after.parse().expect("seconds");
    let (status, code) = refusal(response).await;
    assert_eq!(status, 429);
    (code, after)
}

#[tokio::test]
async fn a_user_has_so_many_runs_at_once() {
    let model = HeldModel::start().await;
    let two = Two::start("user-runs", |arguments| {
        let arguments = [arguments, &["--user-runs", "2"]].concat();
        Server::before_url(&model.url, &arguments)
    });
    let (server, alice, bob) = (&two.server, &two.alice, &two.bob);
    alice.begin(server, "t", "one", "?").await;
    model.asked().await;
    let posted = alice.run(server, &asks("r", "?")).await;
    model.asked().await;
    let refused = (String::from("too_many_user_runs"), 5);
    let body = json!({ "message": "?" });
    let path = "/threads/other/turns";
    let third = alice.call(server, "POST", path, Some(body)).await;
    assert_eq!(too_many(third).await, refused);
    assert_eq!(
        too_many(alice.run(server, &asks("s", "?")).await).await,
        refused
    );
    // The turn replaces the one before, and other users have as many.
    alice.begin(server, "t", "two", "?").await;
    bob.begin(server, "t", "one", "?").await;
    drop(posted);
    let told = alice.follow(server, "t", "two").await;
    for _ in 0..8 {
        model.answer();
    }
    assert_eq!(text(&events(told).await), "At last.");
    let run = alice.run(server, &asks("u", "?")).await;
    assert_eq!(text(&events(run).await), "At last.");
}

#[tokio::test]
async fn a_user_has_so_many_requests_a_minute() {
    let two = Two::start("user-requests", |arguments| {
        Server::start(&[arguments, &["--user-requests", "2"]].concat())
    });
    let (server, alice, bob) = (&two.server, &two.alice, &two.bob);
    for _ in 0..2 {
        alice.threads(server).await;
    }
    let third = alice.call(server, "GET", "/threads", None).await;
    let (code, after) = too_many(third).await;
    assert_eq!(code, "too_many_requests");
    assert!((1..=30).contains(&after), "{after}");
    bob.threads(server).await;
    // Requests that need no token count for no user.
    for _ in 0..4 {
        assert_eq!(server.get("/health").await.status(), 200);
    }
}

#[tokio::test]
async fn turns_that_wait_for_their_user_leave_room_for_others() {
    let server = Server::start(&["--max-runs", "1", "--user-waiting", "2"]);
    for thread in ["a", "b"] {
        server.begin(thread, "r", "change").await;
        let mut follower = Run::new(server.follow(thread, "r", None).await);
        while follower.until("CUSTOM").await["name"] != "interrupt" {}
    }
    let body = |turn: &str| Some(json!({ "turnId": turn, "message": "hello" }));
    let refused = server.call("POST", "/threads/c/turns", body("r")).await;
    let many = (429, "too_many_waiting_turns".to_owned());
    assert_eq!(refusal(refused).await, many);
    // A turn takes the place of the one that waits on its thread.
    server.begin("a", "s", "hello").await;
    events(server.follow("a", "s", None).await).await;
    server.begin("c", "r", "hello").await;
    events(server.follow("c", "r", None).await).await;
}

#[tokio::test]
async fn a_follower_leaves_connections_to_other_users() {
    let server = Server::start(&["--max-connections", "3", "--user-streams", "3"]);
    server.begin("t", "r", "change").await;
    let mut followers = Vec::new();
    for _ in 0..3 {
        let mut follower = Run::new(server.follow("t", "r", None).await);
        follower.until("RUN_STARTED").await;
        followers.push(follower);
    }
    // The client's connection is closed, or has a follower.
    assert_eq!(server.get("/health").await.status(), 200);
    assert_eq!(server.get("/ready").await.status(), 200);
    let full = (503, "too_many_connections".to_owned());
    assert_eq!(refusal(server.get("/threads").await).await, full);
    drop(followers);
}
