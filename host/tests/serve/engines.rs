//! What every engine holds to: the same tests with each, two hosts on one PostgreSQL. `STEPWELL_POSTGRES` has its address,
//! `STEPWELL_RESTATE_SERVER` Restate's program.
#![cfg(feature = "restate")]

use crate::audit::{Audit, judge};
use crate::model::HeldModel;
use crate::restate::{Restate, Switch, free_port};
use crate::server::{Server, refusal};
use crate::stream::{Run, all, events, kinds, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

/// Two hosts behind an engine.
struct Hosts {
    one: Server,
    two: Server,
    /// The host that is asked about a turn which began on the first.
    any: fn(&Self) -> &Server,
    restate: Option<Fixture>,
}

/// Restate, and what leads from there to the hosts.
struct Fixture {
    server: Restate,
    switch: Switch,
    ports: [u16; 2],
}

impl Fixture {
    async fn start(name: &str) -> Option<Self> {
        let server = Restate::start(name).await?;
        let ports = [free_port(), free_port()];
        let switch = Switch::to(&ports[..1]).await;
        Some(Self {
            server,
            switch,
            ports,
        })
    }

    /// The flags of the host of this number.
    fn flags(&self, host: usize) -> Vec<String> {
        let listen = format!("127.0.0.1:{}", self.ports[host]);
        [
            ["--engine", "restate"],
            ["--restate", &self.server.ingress],
            ["--restate-admin", &self.server.admin],
            ["--restate-listen", &listen],
            ["--restate-url", &self.switch.url],
        ]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect()
    }
}

fn postgres() -> Option<String> {
    let url = std::env::var("STEPWELL_POSTGRES").ok();
    if url.is_none() {
        eprintln!("SKIPPED: set STEPWELL_POSTGRES to a server's address");
    }
    url
}

fn start(store: &str, model: Option<&str>, flags: &[String]) -> Server {
    let mut arguments = vec!["--store", store];
    if let Some(url) = model {
        arguments.extend(["--provider", "openai-compatible", "--model", "m"]);
        arguments.extend(["--base-url", url]);
    }
    arguments.extend(flags.iter().map(String::as_str));
    Server::start(&arguments)
}

const ENGINES: [&str; 2] = ["local", "restate"];

impl Hosts {
    /// Two hosts behind this engine; none if what it needs is not there.
    async fn start(engine: &str, name: &str, model: Option<&HeldModel>) -> Option<Self> {
        let store = postgres()?;
        let model = model.map(|model| &*model.url);
        if engine == "local" {
            return Some(Self {
                one: start(&store, model, &[]),
                two: start(&store, model, &[]),
                any: |hosts| &hosts.one,
                restate: None,
            });
        }
        let fixture = Fixture::start(name).await?;
        let one = start(&store, model, &fixture.flags(0));
        let two = start(&store, model, &fixture.flags(1));
        fixture.server.knows_a_host().await;
        Some(Self {
            one,
            two,
            any: |hosts| &hosts.two,
            restate: Some(fixture),
        })
    }
}

fn thread(test: &str, engine: &str) -> String {
    format!("{test}-{engine}-{}", std::process::id())
}

/// Returns the next question of a turn.
async fn question(listener: &mut Run) -> Value {
    loop {
        let event = listener.next().await.expect("it goes on");
        if event["name"] == "interrupt" {
            return event["value"].clone();
        }
    }
}

async fn answer(server: &Server, thread: &str, id: &Value, payload: Value) -> reqwest::Response {
    let entry = json!({ "interruptId": id, "status": "resolved", "payload": payload });
    let body = json!({ "resume": [entry] });
    server.act(thread, "r", "resume", body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_driven_once_and_followed_on_every_host() {
    for engine in ENGINES {
        let model = HeldModel::start().await;
        let Some(hosts) = Hosts::start(engine, "driven", Some(&model)).await else {
            continue;
        };
        let thread = thread("driven", engine);
        hosts.one.begin(&thread, "r", "?").await;
        model.asked().await;
        let twice = json!({ "turnId": "r", "message": "?" });
        let path = format!("/threads/{thread}/turns");
        let twice = hosts.two.call("POST", &path, Some(twice)).await;
        assert_eq!(refusal(twice).await.0, 409, "{engine}");
        model.answer();
        let log = events(hosts.two.follow(&thread, "r", None).await).await;
        assert_eq!(text(&log), "At last.", "{engine}: {log:#?}");
        assert_eq!(
            events(hosts.one.follow(&thread, "r", None).await).await,
            log
        );
        assert_eq!(model.questions(), 1, "{engine}");
        let late = answer(&hosts.two, &thread, &json!("x"), json!(true)).await;
        assert_eq!(
            refusal(late).await,
            (409, "turn_over".to_owned()),
            "{engine}"
        );
    }
}

async fn is_cancelled(hosts: &Hosts, thread: &str) {
    let log = events(hosts.one.follow(thread, "r", None).await).await;
    let end = log.last().expect("an end");
    assert_eq!(end["outcome"]["type"], "cancelled", "{log:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_cancelled_from_every_host() {
    for engine in ENGINES {
        let model = HeldModel::start().await;
        let Some(hosts) = Hosts::start(engine, "cancelled", Some(&model)).await else {
            continue;
        };
        let thread = thread("cancelled", engine);
        hosts.one.begin(&thread, "r", "?").await;
        model.asked().await;
        let cancelled = hosts.two.act(&thread, "r", "cancel", json!({})).await;
        assert_eq!(cancelled.status(), 204, "{engine}");
        is_cancelled(&hosts, &thread).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_gives_way_to_the_next_of_its_thread() {
    for engine in ENGINES {
        let model = HeldModel::start().await;
        let Some(hosts) = Hosts::start(engine, "replaced", Some(&model)).await else {
            continue;
        };
        let thread = thread("replaced", engine);
        hosts.one.begin(&thread, "r", "?").await;
        model.asked().await;
        let next = json!({ "turnId": "next", "message": "?" });
        let path = format!("/threads/{thread}/turns");
        let begun = hosts.two.call("POST", &path, Some(next)).await;
        assert_eq!(begun.status(), 201, "{engine}");
        model.asked().await;
        // The first request may be from a host that died.
        model.answer();
        model.answer();
        let next = events(hosts.one.follow(&thread, "next", None).await).await;
        assert_eq!(text(&next), "At last.", "{engine}");
        is_cancelled(&hosts, &thread).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_turn_continues_with_the_answer() {
    for engine in ENGINES {
        let Some(hosts) = Hosts::start(engine, "asks", None).await else {
            continue;
        };
        let thread = thread("asks", engine);
        let any = (hosts.any)(&hosts);
        hosts.one.begin(&thread, "r", "change").await;
        let mut listener = Run::new(hosts.two.follow(&thread, "r", None).await);
        let asked = question(&mut listener).await;
        let unknown = answer(any, &thread, &json!("nobody"), json!({ "approved": true })).await;
        assert_eq!(refusal(unknown).await.1, "answer_invalid", "{engine}");
        let misfit = answer(any, &thread, &asked["id"], json!(7)).await;
        assert_eq!(refusal(misfit).await.1, "answer_invalid", "{engine}");
        let answered = answer(any, &thread, &asked["id"], json!({ "approved": true })).await;
        assert_eq!(answered.status(), 204, "{engine}");
        let rest = listener.rest().await;
        assert_eq!(
            kinds(&rest).last(),
            Some(&"RUN_FINISHED"),
            "{engine}: {rest:#?}"
        );
        let log = events(hosts.one.follow(&thread, "r", None).await).await;
        let answers = log
            .iter()
            .filter(|event| event["name"] == "interrupt_answered");
        assert_eq!(answers.count(), 1, "{engine}: {log:#?}");
        assert_eq!(all(&log, "RUN_FINISHED").len(), 1, "{engine}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_tool_is_answered() {
    for engine in ENGINES {
        let Some(hosts) = Hosts::start(engine, "tool", None).await else {
            continue;
        };
        let thread = thread("tool", engine);
        let any = (hosts.any)(&hosts);
        hosts.one.begin(&thread, "r", "order").await;
        let mut listener = Run::new(hosts.two.follow(&thread, "r", None).await);
        let which = question(&mut listener).await;
        let order = json!({ "tea": "green", "cups": 2 });
        let answered = answer(any, &thread, &which["id"], order).await;
        assert_eq!(answered.status(), 204, "{engine}");
        let sure = question(&mut listener).await;
        let answered = answer(any, &thread, &sure["id"], json!(true)).await;
        assert_eq!(answered.status(), 204, "{engine}");
        let rest = listener.rest().await;
        let result = all(&rest, "TOOL_CALL_RESULT");
        let result = result.first().expect("a result")["content"].to_string();
        assert!(result.contains("Ordered: 2 cups"), "{engine}: {result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_hosts_turn_continues_at_another() {
    for engine in ENGINES {
        let model = HeldModel::start().await;
        let Some(hosts) = Hosts::start(engine, "killed", Some(&model)).await else {
            continue;
        };
        let thread = thread("killed", engine);
        hosts.one.begin(&thread, "r", "?").await;
        model.asked().await;
        if let Some(fixture) = &hosts.restate {
            fixture.switch.turn_to(fixture.ports[1]);
        }
        let Hosts {
            one, two, restate, ..
        } = hosts;
        let lost_at = Instant::now();
        // With SIGKILL.
        drop(one);
        model.asked().await;
        let took = lost_at.elapsed().as_secs_f64();
        println!("take-over, {engine}: the turn of a killed host goes on after {took:.2} s");
        model.answer();
        model.answer();
        let log = events(two.follow(&thread, "r", None).await).await;
        assert_eq!(text(&log), "At last.", "{engine}");
        assert_eq!(all(&log, "RUN_STARTED").len(), 1, "{engine}");
        drop(restate);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restate_may_die_as_a_turn_runs() {
    let (Some(store), Some(mut fixture)) = (postgres(), Fixture::start("dies").await) else {
        return;
    };
    let model = HeldModel::start().await;
    let host = start(&store, Some(&model.url), &fixture.flags(0));
    fixture.server.knows_a_host().await;
    let thread = thread("dies", "restate");
    host.begin(&thread, "r", "?").await;
    model.asked().await;
    fixture.server.kill_and_start().await;
    // The attempt that Restate has lost, and the one that it makes instead.
    model.asked().await;
    model.answer();
    model.answer();
    let log = events(host.follow(&thread, "r", None).await).await;
    assert_eq!(text(&log), "At last.");
    assert_eq!(all(&log, "RUN_FINISHED").len(), 1);
}

/// A host that has lost Restate continues its turn, while another one has the turn by then.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_cut_off_from_restate_stops_writing() {
    let (Some(url), Some(fixture)) = (postgres(), Fixture::start("zombie").await) else {
        return;
    };
    let audit = Audit::start(&url, &format!("zombie_{}", std::process::id())).await;
    let model = HeldModel::start().await;
    let (mut flags, store) = (fixture.flags(0), audit.store("zombie"));
    flags.extend(["--store", &store, "--provider", "openai-compatible"].map(str::to_owned));
    flags.extend(["--model", "m", "--base-url", &*model.url].map(str::to_owned));
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let mut zombie = Server::start_logged(&flags, "info", Stdio::piped());
    let lines = BufReader::new(zombie.stderr()).lines();
    let other = start(&audit.store("other"), Some(&model.url), &fixture.flags(1));
    fixture.server.knows_a_host().await;
    let thread = thread("zombie", "restate");
    zombie.begin(&thread, "r", "?").await;
    model.asked().await;
    let cut_at = Instant::now();
    fixture.switch.swallow(fixture.ports[0]);
    fixture.switch.turn_to(fixture.ports[1]);
    model.asked().await;
    let taken = cut_at.elapsed().as_secs_f64();
    // The zombie's answer first: it has asked first.
    model.answer();
    let refused = tokio::task::spawn_blocking(move || {
        let mut lines = lines.map_while(Result::ok);
        lines.find(|line| line.contains("a turn is left to its new owner"))
    });
    let refused = refused.await.unwrap().expect("it is refused");
    model.answer();
    let log = events(other.follow(&thread, "r", None).await).await;
    assert_eq!(text(&log), "At last.", "{log:#?}");
    for kind in ["RUN_STARTED", "TEXT_MESSAGE_CONTENT", "RUN_FINISHED"] {
        assert_eq!(all(&log, kind).len(), 1, "{log:#?}");
    }
    println!("zombie: another host has the turn after {taken:.2} s; the first one says: {refused}");
    let writes = audit.writes().await;
    for write in &writes {
        println!("zombie: {write}");
    }
    let first = writes.iter().position(|write| write.host == "other");
    let first = first.expect("the other one has written");
    assert!(first > 0, "the zombie has not written: {writes:#?}");
    let later = writes[first..].iter().find(|write| write.host == "zombie");
    assert_eq!(later, None, "{writes:#?}");
    println!("zombie: {}", judge(&writes).expect("one writes at a time"));
}
