//! A client: it begins turns, follows them, answers, stops them, goes away and resumes.

use super::clients::chance::Chance;
use super::clients::findings::Rule;
use super::clients::frames::Frame;
use super::clients::view::View;
use super::clients::{TOOL, tools};
use super::http::{Answer, Events, Told};
use super::world::{Posted, Up, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::TurnStatus;
use stepwell_io::ThreadKey;
use stepwell_io::store::{TurnKey, TurnStore};
use tokio::time::Instant;

pub(super) struct Client {
    pub(super) name: String,
    pub(super) world: Arc<World>,
    chance: Chance,
    /// The choices of its tool's results.
    pub(super) results: Chance,
    threads: Vec<String>,
    pub(super) views: BTreeMap<String, View>,
}

impl Posted {
    pub(super) fn path(&self) -> String {
        format!("/threads/{}/turns/{}", self.thread, self.turn)
    }

    pub(super) fn key(&self) -> TurnKey {
        TurnKey::new(ThreadKey::from(self.thread.as_str()), self.turn.as_str())
    }
}

impl Client {
    pub(super) fn new(name: String, world: &Arc<World>, threads: Vec<String>) -> Self {
        Self {
            chance: Chance::of(world.seed, &name),
            results: Chance::of(world.seed, &format!("the results of {name}")),
            name,
            world: Arc::clone(world),
            threads,
            views: BTreeMap::new(),
        }
    }

    /// Takes this number of steps.
    pub(super) async fn live(&mut self, steps: u64, most_turns: usize) {
        for step in 0..steps {
            let pause = match self.chance.below(3) {
                0 => self.chance.millis(200..8_000),
                _ => self.chance.millis(0..200),
            };
            tokio::time::sleep(pause).await;
            let action = match step {
                0 => 0,
                _ => self.chance.below(20),
            };
            let posted = self.world.posted();
            let turn = match self.chance.below(3) {
                0 if !posted.is_empty() => Some(self.chance.of_slice(&posted).clone()),
                _ => posted.last().cloned(),
            };
            match (action, turn) {
                (0..=4, _) if posted.len() < most_turns => self.post(&posted).await,
                (_, None) => {}
                (0..=12, Some(turn)) => {
                    let lasts = match self.chance.below(3) {
                        0 => self.chance.millis(0..2_000),
                        _ => self.chance.millis(2_000..100_000),
                    };
                    self.follow(&turn, lasts, None).await;
                }
                (13, Some(turn)) => self.cancel(&turn).await,
                (14, Some(turn)) => self.cancel_call(&turn).await,
                (15..=16, Some(turn)) => {
                    self.answer(&turn).await;
                    self.brings(&turn).await;
                }
                (17, Some(turn)) => self.acknowledge(&turn).await,
                (18, Some(turn)) => self.look(&turn).await,
                _ => tokio::time::sleep(self.chance.millis(5_000..60_000)).await,
            }
        }
    }

    fn note(&self, what: impl AsRef<str>) {
        let what = what.as_ref();
        self.world.trace.note(format!("{}: {what}", self.name));
    }

    async fn host(&self) -> Option<Up> {
        let ups = self.world.ups();
        if ups.is_empty() {
            tokio::time::sleep(Duration::from_millis(700)).await;
            return None;
        }
        Some(self.chance.of_slice(&ups).clone())
    }

    /// Sends a command to any host.
    pub(super) async fn command(
        &self,
        turn: &Posted,
        action: &str,
        body: &Value,
    ) -> Option<(Up, Answer)> {
        let up = self.host().await?;
        let path = format!("{}/{action}", turn.path());
        let answer = self
            .world
            .ask(&up, &turn.turn, "POST", &path, Some(body))
            .await?;
        Some((up, answer))
    }

    pub(super) fn fits(&self, turn: &str, what: &str, answer: &Answer, allowed: &[u16]) {
        // A store that is away is reported as such.
        if !allowed.contains(&answer.status) && ![503, 500].contains(&answer.status) {
            let what = format!("{what}: {} {}", answer.status, answer.body);
            self.world.finds(Rule::AnswerFits, turn, what);
        }
    }

    async fn post(&mut self, before: &[Posted]) {
        let Some(up) = self.host().await else { return };
        let thread = self.chance.of_slice(&self.threads).clone();
        let has_tools = self.results.one_in(2);
        let posted = self.world.post(&thread, has_tools);
        let plan: Vec<String> = (0..self.chance.below(4))
            .map(|_| {
                let names = ["work", "look", "long", "ask", "ask", "fail", "work"];
                let calls = (0..=self.chance.below(3)).map(|_| {
                    let name = *self.chance.of_slice(&names);
                    match has_tools && self.results.one_in(3) {
                        true => TOOL,
                        false => name,
                    }
                });
                calls.collect::<Vec<_>>().join("+")
            })
            .collect();
        let message = format!("{} {}", posted.turn, plan.join(" "));
        let mut body = json!({ "turnId": posted.turn, "message": message });
        if has_tools {
            body["tools"] = tools();
        }
        let earlier: Vec<_> = before.iter().filter(|turn| turn.thread == thread).collect();
        if !earlier.is_empty() && self.chance.one_in(4) {
            // An edit: the message takes the place of another one.
            let parent = self.chance.of_slice(&earlier);
            body["parent"] = match self.chance.one_in(3) {
                true => Value::Null,
                false => json!(parent.turn),
            };
        }
        self.note(format!("posts `{message}` at {}", up.life.name));
        up.life.is_asked_for(&thread);
        let path = format!("/threads/{thread}/turns");
        let answer = self
            .world
            .ask(&up, &posted.turn, "POST", &path, Some(&body))
            .await;
        let Some(answer) = answer else { return };
        self.fits(&posted.turn, "a turn is posted", &answer, &[201, 404, 409]);
        if answer.status == 201 && self.status(&posted).await.is_none() {
            let what = "it has begun, and is not stored";
            self.world.finds(Rule::AnswerFits, &posted.turn, what);
        }
    }

    pub(super) async fn status(&self, turn: &Posted) -> Option<TurnStatus> {
        let memory = &self.world.kept.memory;
        let turn = TurnStore::turn(memory, &turn.key()).await;
        turn.ok().flatten().map(|turn| turn.status)
    }

    /// Follows a turn for a while, from where it was left; `at` this host, or any.
    pub(super) async fn follow(&mut self, turn: &Posted, lasts: Duration, at: Option<&Up>) {
        let up = match at {
            Some(up) => up.clone(),
            None => match self.host().await {
                Some(up) => up,
                None => return,
            },
        };
        if at.is_none() && self.chance.one_in(7) {
            // The user takes another device.
            self.views.remove(&turn.turn);
        }
        let mut view = self.views.remove(&turn.turn).unwrap_or_default();
        let last = view.last_event_id(&turn.turn);
        let last = last.map(|last| ("last-event-id", last));
        let path = format!("{}/events?protocolVersion=1.0", turn.path());
        let headers: Vec<_> = last.into_iter().collect();
        self.note(format!(
            "follows {} at {} {headers:?}",
            turn.turn, up.life.name
        ));
        let response = self
            .world
            .send(&up, &turn.turn, "GET", &path, None, &headers)
            .await;
        let Some(response) = response else {
            self.views.insert(turn.turn.clone(), view);
            return;
        };
        let status = response.status().as_u16();
        if status != 200 {
            if ![404, 503].contains(&status) {
                let what = format!("to be followed from {headers:?}: {status}");
                self.world.finds(Rule::AnswerFits, &turn.turn, what);
            }
            self.views.insert(turn.turn.clone(), view);
            return;
        }
        let mut events = Events::of(response, Arc::clone(&up.life));
        let until = Instant::now() + lasts;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match events.next(left).await {
                Told::Frame(Frame::Event(id, data)) => {
                    self.hears(turn, &mut view, &id, data);
                    up.life.passes("a client hears of it");
                    if at.is_none() && self.reacts(turn, &mut view, &up).await {
                        break;
                    }
                }
                Told::Frame(Frame::Comment) if !view.fold.awaited().is_empty() && at.is_none() => {
                    self.views.insert(turn.turn.clone(), view.clone());
                    self.brings(turn).await;
                }
                Told::Frame(_) => {}
                Told::Closed | Told::Gone | Told::Nothing => break,
            }
        }
        if events.is_mute() {
            let what = format!("{} says nothing to who follows", up.life.name);
            self.world.finds(Rule::StreamSpeaks, &turn.turn, what);
        }
        self.views.insert(turn.turn.clone(), view);
    }

    fn hears(&self, turn: &Posted, view: &mut View, id: &str, data: String) {
        for (rule, what) in view.take(&turn.turn, id, data) {
            // The judge reports broken messages once: many may follow.
            if [Rule::LogStays, Rule::EndIsTold].contains(&rule) {
                self.world.finds(rule, &turn.turn, what);
            }
        }
    }

    /// Acts as a user who watches. Returns `true` if they go away.
    async fn reacts(&mut self, turn: &Posted, view: &mut View, up: &Up) -> bool {
        match self.chance.below(60) {
            0 => return true,
            1..=4 => {
                let last = view.events.len() as u64 - 1;
                self.acknowledges(turn, last, up).await;
            }
            5 if self.chance.one_in(3) => {
                self.views.insert(turn.turn.clone(), view.clone());
                self.cancel(turn).await;
            }
            6..=29 if !view.fold.questions.is_empty() => {
                self.views.insert(turn.turn.clone(), view.clone());
                self.answer(turn).await;
            }
            _ => {}
        }
        if !view.fold.awaited().is_empty() && self.results.one_in(4) {
            self.views.insert(turn.turn.clone(), view.clone());
            self.brings(turn).await;
        }
        false
    }

    async fn acknowledge(&mut self, turn: &Posted) {
        let Some(up) = self.host().await else { return };
        let seen = self
            .views
            .get(&turn.turn)
            .map_or(0, |view| view.events.len());
        if let Some(last) = seen.checked_sub(1) {
            self.acknowledges(turn, last as u64, &up).await;
        }
    }

    async fn acknowledges(&self, turn: &Posted, index: u64, up: &Up) {
        let path = format!("{}/acknowledge", turn.path());
        let body = json!({ "index": index });
        let answer = self
            .world
            .ask(up, &turn.turn, "POST", &path, Some(&body))
            .await;
        if let Some(answer) = answer {
            self.fits(&turn.turn, "what was seen is acknowledged", &answer, &[204]);
            if answer.status == 204 {
                self.world.sees(&turn.turn, index);
            }
        }
    }

    /// Stops the turn.
    pub(super) async fn cancel(&self, turn: &Posted) {
        for up in self.world.ups() {
            up.life.is_asked_for(&turn.thread);
        }
        let Some((up, answer)) = self.command(turn, "cancel", &json!({})).await else {
            return;
        };
        self.fits(&turn.turn, "it is stopped", &answer, &[204, 404]);
        if answer.status == 204 && self.status(turn).await == Some(TurnStatus::Streaming) {
            let what = format!("{} says that it has stopped, and it goes on", up.life.name);
            self.world.finds(Rule::StopStops, &turn.turn, what);
        }
    }

    async fn cancel_call(&self, turn: &Posted) {
        let Some(view) = self.views.get(&turn.turn) else {
            return;
        };
        let open = view.fold.statuses.iter();
        let open = open.filter(|(_, status)| !super::clients::fold::is_final(status));
        let open: Vec<_> = open.map(|(call, _)| call.clone()).collect();
        if open.is_empty() {
            return;
        }
        let call = self.chance.of_slice(&open).clone();
        let action = format!("calls/{call}/cancel");
        if let Some((_, answer)) = self.command(turn, &action, &json!({})).await {
            self.fits(&turn.turn, "a call is stopped", &answer, &[204, 404, 409]);
        }
    }

    /// Answers a question, one way or another.
    async fn answer(&self, turn: &Posted) {
        let Some(view) = self.views.get(&turn.turn) else {
            return;
        };
        let questions: Vec<_> = view.fold.questions.clone().into_iter().collect();
        if questions.is_empty() {
            return;
        }
        let (id, call) = self.chance.of_slice(&questions).clone();
        let call = call.unwrap_or_default();
        let entry = match self.chance.below(8) {
            0 => json!({"interruptId": id, "status": "cancelled"}),
            1 => {
                json!({"interruptId": id, "status": "resolved", "payload": {"approved": false, "reason": "no"}})
            }
            2 => json!({"interruptId": id, "status": "resolved", "payload": {"approved": true,
                "editedArgs": {"id": call, "note": "edited"}}}),
            3 => json!({"interruptId": id, "status": "resolved", "payload": {"approved": true,
                "editedArgs": {"id": 7}}}),
            _ => json!({"interruptId": id, "status": "resolved", "payload": {"approved": true}}),
        };
        let body = json!({ "resume": [entry] });
        if let Some((_, answer)) = self.command(turn, "resume", &body).await {
            self.fits(&turn.turn, "it is answered", &answer, &[204, 404, 409, 422]);
        }
    }

    async fn look(&self, turn: &Posted) {
        let Some(up) = self.host().await else { return };
        let path = format!("/threads/{}", turn.thread);
        if let Some(answer) = self.world.ask(&up, &turn.turn, "GET", &path, None).await {
            self.fits(&turn.turn, "a thread is shown", &answer, &[200, 404]);
        }
        if let Some(answer) = self
            .world
            .ask(&up, &turn.turn, "GET", "/threads", None)
            .await
        {
            self.fits(&turn.turn, "the threads are listed", &answer, &[200]);
        }
    }
}
