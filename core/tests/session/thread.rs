//! A thread on real machines: a scripted provider, tools, a user, a store that keeps blocks alone, and a screen.

use crate::plan::{End, Hop, Press, TurnPlan};
use crate::stored::{begun, write};
use crate::wire::{Api, body};
use serde_json::json;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stepwell_core::event::{
    ContentPart, MediaPart, Message, MessageContent, Metadata, ResumeEntry, ResumeStatus, Source,
    TextPart,
};
use stepwell_core::run::{
    Durability, Effect, EffectId, Input, Output, Refusal, RunConfig, RunEvent, RunMachine, Start,
    StateKind, TextOptions, ToolInvocation,
};
use stepwell_core::session::{
    ChatMessage, ChatPart, ChatReducer, ChatState, MessageBuilder, SessionView, Turn, TurnTree,
    ViewOptions,
};
use stepwell_core::tool::{Tool, ToolFailure, ToolOutput, ToolRegistry, ToolResult};
use stepwell_core::transcript::{ToolCallStatus, Transcript};
use stepwell_core::{CallKey, RunId, Timestamp};

pub fn tools() -> ToolRegistry {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let label = |arguments: &serde_json::Value| {
        let path = arguments["path"].as_str()?;
        Some(format!("Reads {path}\n"))
    };
    let all = [
        Tool::new("work", "Works.")
            .parameters(parameters.clone())
            .label(label),
        Tool::new("picture", "Draws."),
        Tool::new("fails", "Fails."),
        Tool::new("ask", "Asks.")
            .parameters(parameters)
            .requires_approval()
            .label(label),
        Tool::new("later", "Takes days."),
    ];
    all.into_iter().fold(ToolRegistry::new(), |tools, tool| {
        tools.register(tool).expect("a good tool")
    })
}

pub fn config(api: Api) -> Arc<RunConfig> {
    let mut config = RunConfig::new(api.endpoint());
    config.durability = Durability::Blocks { attempts: 2 };
    config.retry.attempts = 2;
    config.retry.jitter = 0.0;
    // A window that is soon nearly full by what the provider has counted: that must come back too.
    config.context_guard.window = Some(18);
    config.context_guard.at_limit = stepwell_core::run::ContextPolicy::Send;
    config.tools = tools();
    // A view shows each message by itself.
    config.text = TextOptions::AS_WRITTEN;
    Arc::new(config)
}

pub fn options() -> ViewOptions {
    ViewOptions {
        tools: tools(),
        text: TextOptions::AS_WRITTEN,
    }
}

pub struct Thread {
    pub api: Api,
    config: Arc<RunConfig>,
    pub turns: Vec<Turn>,
    /// The conversation that each turn left behind.
    left: BTreeMap<RunId, Transcript>,
    now: u64,
}

impl Thread {
    pub fn new(api: Api) -> Self {
        Self {
            api,
            config: config(api),
            turns: Vec::new(),
            left: BTreeMap::new(),
            now: 1_000,
        }
    }

    /// Runs a turn to its end, and sees to it that the store and the screen have what the machine has.
    pub fn run(&mut self, plan: &TurnPlan) {
        let name = format!("turn-{}", self.turns.len());
        let tree = TurnTree::new(self.turns.clone()).expect("a tree");
        let parent = match plan.resends.filter(|_| !self.turns.is_empty()) {
            Some(which) => which.get(&self.turns).parent.clone(),
            None => self.turns.last().map(|turn| turn.id.clone()),
        };
        let history = parent.as_ref().map(|parent| self.left[parent].clone());
        let before = parent
            .as_ref()
            .map(|parent| tree.path_to(parent).expect("it is there"));
        let before = before.into_iter().flatten();
        let live = ChatReducer::from_turns(before, options()).expect("a path");
        let message = Message::user(format!("{name}-user"), format!("# Do *{name}*\nnow"));
        let parent_id = parent.as_ref().map(|id| id.as_str().to_owned());
        let turn = begun(&name, parent_id.as_deref(), Some(message.clone()), self.now);
        self.turns.push(turn);
        let mut stage = Stage {
            machine: RunMachine::new(
                Arc::clone(&self.config),
                "thread".into(),
                history.unwrap_or_default(),
            ),
            api: self.api,
            plan,
            name: &name,
            turns: &mut self.turns,
            live,
            copy: Screen::default(),
            hops: plan.hops.iter().cloned().collect(),
            decisions: plan.decisions.iter().cloned().collect(),
            inputs: VecDeque::new(),
            hop: None,
            taken: 0,
            now: self.now,
        };
        let now = Timestamp(stage.now);
        stage
            .live
            .begin(name.as_str().into(), parent, Some(message.clone()), now);
        let start = Start::new(name.as_str(), message);
        stage.input(Input::Start(Box::new(start)));
        stage.drive();
        self.now = stage.now + 10;
        let transcript = stage.machine.transcript().clone();
        stage.live.set_usage(stage.machine.usage());
        let (live, outcome) = (stage.live.state().clone(), stage.machine.outcome().cloned());
        let turn = self.turns.last().expect("it began");
        assert_eq!(turn.outcome, outcome);
        let tree = TurnTree::new(self.turns.clone()).expect("a tree");
        let path = tree.path_to(&name).expect("it is there");
        self.check(&path, &transcript, &live);
        self.left.insert(name.as_str().into(), transcript);
    }

    fn check(&self, path: &[&Turn], live: &Transcript, shown: &ChatState) {
        let stored = MessageBuilder::new().transcript(path.iter().copied());
        let stored = stored.expect("it fits together");
        let lines = |transcript: &Transcript| {
            let messages = transcript.messages().iter();
            messages
                .map(|message| json!(message).to_string())
                .collect::<Vec<_>>()
        };
        let (lines, live_lines) = (lines(&stored), lines(live));
        if lines != live_lines {
            let blocks = path.last().map(|turn| blocks(turn));
            panic!("blocks {blocks:#?}\nstored {lines:#?}\nlive {live_lines:#?}");
        }
        assert_eq!(stored.messages(), live.messages());
        assert_eq!(stored.shared_state(), live.shared_state());
        assert_eq!(stored.summary().usage, live.summary().usage);
        // The provider, and any other that the user goes on with, gets the same request.
        for api in [self.api, Api::Anthropic, Api::Responses, Api::Agent] {
            let (live, stored) = (live.clone(), stored.clone());
            assert_eq!(request(api, stored), request(api, live), "{api:?}");
        }
        let view = SessionView::of(path.iter().copied(), &options()).expect("it fits together");
        let chat = chat_of(path);
        let pairs = chat.messages.iter().zip(&shown.messages);
        pairs.for_each(|(stored, shown)| assert_eq!(unrevised(stored), unrevised(shown)));
        assert_eq!(chat.messages.len(), shown.messages.len());
        assert_eq!(chat.problem, shown.problem);
        assert_eq!(chat.usage, shown.usage);
        assert_eq!(chat.digest(), shown.digest(), "{chat:?}\n{shown:?}");
        let json = serde_json::to_value(&view).expect("JSON");
        let read: SessionView = serde_json::from_value(json).expect("what was written can be read");
        assert_eq!(read, view);
    }
}

/// The screen after a reload.
fn chat_of(path: &[&Turn]) -> ChatState {
    let chat = ChatReducer::from_turns(path.iter().copied(), options());
    chat.expect("it fits together").state().clone()
}

/// The message as JSON, without its revision.
fn unrevised(message: &impl serde::Serialize) -> serde_json::Value {
    let mut json = json!(message);
    json.as_object_mut()
        .expect("a message")
        .shift_remove("revision");
    json
}

fn blocks(turn: &Turn) -> Vec<String> {
    let blocks = turn.blocks.iter().map(|block| &block.block);
    blocks.map(|block| json!(block).to_string()).collect()
}

/// The body of the next turn's request on this conversation.
fn request(api: Api, history: Transcript) -> serde_json::Value {
    let mut machine = RunMachine::new(config(api), "thread".into(), history);
    let start = Start::new("next", Message::user("next-user", "And?"));
    machine
        .handle(Input::Start(Box::new(start)), Timestamp(1))
        .expect("it is idle");
    let requests = std::iter::from_fn(|| machine.poll_output());
    let mut requests = requests.filter_map(|output| match output {
        Output::Effect(_, Effect::OpenStream { request }) => Some(request),
        _ => None,
    });
    let request = requests.next().expect("a request");
    serde_json::from_slice(&request.body).expect("JSON")
}

/// A turn that runs.
struct Stage<'a> {
    machine: RunMachine,
    api: Api,
    plan: &'a TurnPlan,
    name: &'a str,
    turns: &'a mut Vec<Turn>,
    live: ChatReducer,
    /// A copy of the screen, by its updates alone.
    copy: Screen,
    hops: VecDeque<Hop>,
    decisions: VecDeque<stepwell_core::run::Decision>,
    inputs: VecDeque<Input<'static>>,
    /// The hop whose stream is open.
    hop: Option<Hop>,
    /// How many inputs the machine has taken.
    taken: usize,
    now: u64,
}

impl Stage<'_> {
    fn drive(&mut self) {
        for _ in 0..5_000 {
            if let Some(input) = self.inputs.pop_front() {
                self.input(input);
            } else if self.machine.state() == StateKind::Interrupted {
                self.answer_agent();
            } else if let Some(at) = self.machine.poll_timeout() {
                self.now = self.now.max(at.0);
                self.input(Input::Timeout);
            } else {
                assert!(self.machine.outcome().is_some(), "{:?}", self.machine);
                return;
            }
        }
        panic!("it never ends: {:?}", self.machine.state());
    }

    fn answer_agent(&mut self) {
        let cancels = matches!(
            self.hop.as_ref().map(|hop| hop.end),
            Some(End::Asks { cancels: true })
        );
        if cancels {
            return self.input(Input::Cancel);
        }
        let answers = self
            .machine
            .interrupts()
            .iter()
            .map(|interrupt| ResumeEntry {
                interrupt_id: interrupt.id.clone(),
                status: ResumeStatus::Resolved,
                payload: Some(json!("this one")),
                metadata: None,
                extra: Metadata::new(),
            });
        let answers = answers.collect();
        self.input(Input::Resume(answers));
    }

    fn input(&mut self, input: Input<'static>) {
        self.now += 1;
        let _ = self.machine.handle(input, Timestamp(self.now));
        self.taken += 1;
        self.settle();
        let presses = self.plan.presses.iter();
        let presses: Vec<_> = presses.filter(|press| press.0 == self.taken).collect();
        for (_, press) in presses {
            let input = match press {
                Press::Cancel => Input::Cancel,
                Press::Steer => {
                    let id = format!("{}-typed-{}", self.name, self.taken);
                    let message = Message::user(id, "Not so fast");
                    self.live.steer(message.clone());
                    Input::Steer(Box::new(message))
                }
                Press::Stop(index) => {
                    let hop = self.machine.hop();
                    let call = CallKey { hop, index: *index };
                    Input::CancelCall { call }
                }
            };
            self.input(input);
        }
    }

    fn settle(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Event(event) => {
                    if let RunEvent::Warning { message } = &event {
                        assert!(!message.contains("stored"), "{message}");
                    }
                    self.live.apply(&event, Timestamp(self.now));
                    self.copy.follow(&mut self.live);
                }
                Output::Effect(id, effect) => self.carry_out(id, effect),
                Output::Moved(_) => {}
            }
        }
    }

    fn carry_out(&mut self, effect: EffectId, what: Effect) {
        let mut answer = |input| self.inputs.push_back(input);
        match what {
            Effect::Persist {
                turn,
                status,
                outcome,
                blocks,
                ..
            } => {
                answer(Input::Persisted { effect });
                let stored = self.turns.last_mut().expect("it began");
                assert_eq!(stored.id, turn);
                let at = self.now + 3;
                write(stored, status, outcome.as_ref(), &blocks, at);
                self.check_in_the_middle();
            }
            Effect::OpenStream { .. } => self.serve(effect),
            Effect::RunTool { invocation } => {
                if invocation.name == "later" {
                    answer(Input::ToolDeferred { effect });
                }
                let result = run_tool(&invocation);
                answer(Input::ToolFinished { effect, result });
            }
            Effect::AskApproval { .. } => {
                let decision = self.decisions.pop_front();
                let decision = decision.unwrap_or(stepwell_core::run::Decision::Granted);
                answer(Input::Decided { effect, decision });
            }
            Effect::CloseStream | Effect::CancelTool => {
                self.inputs.retain(|input| input.effect() != Some(effect));
            }
            other => panic!("nobody asked for {other:?}"),
        }
    }

    fn serve(&mut self, effect: EffectId) {
        let hop = self.hops.pop_front().unwrap_or(Hop {
            parts: vec![crate::plan::Part::Text("Done.")],
            end: End::Whole,
            usage: false,
        });
        match hop.end {
            End::Refused => self.inputs.push_back(Input::Refused {
                effect,
                refusal: Refusal {
                    status: 400,
                    retry_after: None,
                    body: b"{\"error\":{\"message\":\"no\"}}".to_vec(),
                },
            }),
            End::Unreachable => self.inputs.push_back(Input::ConnectionFailed {
                effect,
                message: "no route".to_owned(),
            }),
            _ => {
                let name = format!("{}.{}", self.name, self.taken);
                let transcript = self.machine.transcript();
                let has_state = transcript.shared_state().get("list").is_some();
                let bytes = match self.api {
                    Api::Agent => {
                        let history = transcript.messages();
                        crate::agent::body(&name, &hop, history, has_state)
                    }
                    api => body(api, &name, &hop),
                };
                let content_type = Some(self.api.media_type().to_owned());
                self.inputs.push_back(Input::Opened {
                    effect,
                    content_type,
                });
                for chunk in bytes.chunks(self.plan.chunk) {
                    let bytes = Cow::Owned(chunk.to_vec());
                    self.inputs.push_back(Input::Received { effect, bytes });
                }
                self.inputs.push_back(match hop.end {
                    End::Breaks => Input::Lost {
                        effect,
                        message: "reset".to_owned(),
                    },
                    _ => Input::Ended { effect },
                });
            }
        }
        self.hop = Some(hop);
    }

    /// What the store has in the middle of a turn, the user has seen.
    fn check_in_the_middle(&mut self) {
        let tree = TurnTree::new(self.turns.clone()).expect("a tree");
        let path = tree.path_to(self.name).expect("it is there");
        let stored = chat_of(&path);
        MessageBuilder::new()
            .messages(path)
            .expect("it fits together");
        let live = self.live.state();
        // What an agent puts in the place of other messages is stored at the end of its stream.
        if self.api == Api::Agent {
            return;
        }
        let seen = live.messages.iter().flat_map(|message| &message.parts);
        let stored = stored.messages.iter().flat_map(|message| &message.parts);
        let seen: Vec<_> = seen.collect();
        for part in stored {
            let was_seen = seen.iter().any(|seen| shows(part, seen));
            assert!(was_seen, "{part:?} was never seen: {seen:?}");
        }
    }
}

/// Whether a part of the screen shows at least what the store has of it.
fn shows(stored: &ChatPart, seen: &ChatPart) -> bool {
    match (stored, seen) {
        (ChatPart::Text { text }, ChatPart::Text { text: seen })
        | (ChatPart::Reasoning { text }, ChatPart::Reasoning { text: seen }) => {
            seen.starts_with(text)
        }
        (ChatPart::Tool { card }, ChatPart::Tool { card: seen }) if !card.status.is_final() => {
            // That a call waits is stored just before the user sees it.
            matches!(
                card.status,
                ToolCallStatus::Pending
                    | ToolCallStatus::AwaitingApproval
                    | ToolCallStatus::Executing
                    | ToolCallStatus::Deferred
            ) && card.tool_call_id == seen.tool_call_id
                && card.label == seen.label
        }
        pair => pair.0 == pair.1,
    }
}

/// The messages of a screen that takes updates.
#[derive(Default)]
struct Screen {
    messages: Vec<ChatMessage>,
}

impl Screen {
    /// Takes what changed, and compares the copy with the state, and the state with one that is built at once.
    fn follow(&mut self, chat: &mut ChatReducer) {
        if let Some(update) = chat.take_update() {
            for message in update.messages {
                let same = self.messages.iter_mut().find(|own| own.id == message.id);
                match same {
                    Some(same) => *same = message,
                    None => self.messages.push(message),
                }
            }
            if let Some(order) = update.order {
                let place = |message: &ChatMessage| order.iter().position(|id| *id == message.id);
                self.messages.retain(|message| place(message).is_some());
                self.messages.sort_by_key(|message| place(message));
            }
        }
        assert!(chat.take_update().is_none(), "nothing has changed since");
        assert_eq!(self.messages, chat.state().messages);
        let mut rebuilt = chat.clone();
        rebuilt.rebuild_all();
        assert_eq!(rebuilt.state(), chat.clone().state());
    }
}

fn run_tool(invocation: &ToolInvocation) -> ToolResult {
    match invocation.name.as_str() {
        "picture" => {
            let content = MessageContent::Parts(vec![
                ContentPart::Text(TextPart {
                    text: "A picture".to_owned(),
                    ..TextPart::default()
                }),
                ContentPart::Image(MediaPart {
                    source: Source::Data {
                        value: "iVBORw0KGgo=".to_owned(),
                        mime_type: "image/png".to_owned(),
                    },
                    id: None,
                    metadata: None,
                    extra: Metadata::new(),
                }),
            ]);
            Ok(ToolOutput { content })
        }
        "fails" => Err(ToolFailure::error("it does not work")),
        _ => Ok(format!("did {}", invocation.arguments.raw).as_str().into()),
    }
}
