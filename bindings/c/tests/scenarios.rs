//! The scenario files, played through the functions that C calls: the outputs of each step, and the digests, are those
//! of the core.
#![allow(clippy::unwrap_used)]

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use stepwell_c::{
    StepwellChat, StepwellMachine, StepwellText, stepwell_chat_call, stepwell_chat_free,
    stepwell_chat_make, stepwell_machine_ask, stepwell_machine_call, stepwell_machine_free,
    stepwell_machine_make, stepwell_machine_poll, stepwell_machine_receive, stepwell_text_free,
    stepwell_version,
};

/// A machine as C has it.
struct Machine(*mut StepwellMachine);

fn taken(text: StepwellText) -> Value {
    // SAFETY: the library returned the text, which is freed once.
    let value = unsafe {
        let bytes = std::slice::from_raw_parts(text.data, text.length).to_vec();
        stepwell_text_free(text);
        serde_json::from_slice(&bytes)
    };
    value.unwrap()
}

impl Machine {
    fn make(making: &Value) -> Result<Self, Value> {
        let json = making.to_string();
        let mut refusal = StepwellText {
            data: std::ptr::null_mut(),
            length: 0,
        };
        // SAFETY: the pointers point to values of this function.
        let machine = unsafe { stepwell_machine_make(json.as_ptr(), json.len(), &raw mut refusal) };
        if machine.is_null() {
            return Err(taken(refusal));
        }
        Ok(Self(machine))
    }

    fn call(&self, input: &Value, now: u64) -> Value {
        let json = input.to_string();
        // SAFETY: as above.
        taken(unsafe { stepwell_machine_call(self.0, json.as_ptr(), json.len(), now) })
    }

    fn receive(&self, effect: &str, body: &[u8], now: u64) -> Value {
        // SAFETY: as above.
        taken(unsafe {
            stepwell_machine_receive(
                self.0,
                effect.as_ptr(),
                effect.len(),
                body.as_ptr(),
                body.len(),
                now,
            )
        })
    }

    fn poll(&self) -> Value {
        // SAFETY: as above.
        taken(unsafe { stepwell_machine_poll(self.0) })
    }

    fn ask(&self, question: &str) -> Value {
        let json = json!({ "ask": question }).to_string();
        // SAFETY: as above.
        let given = taken(unsafe { stepwell_machine_ask(self.0, json.as_ptr(), json.len()) });
        given
            .get("answer")
            .cloned()
            .unwrap_or_else(|| panic!("{given}"))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: the machine was created here, and is freed once.
        unsafe { stepwell_machine_free(self.0) };
    }
}

/// A chat screen as C has it.
struct Chat(*mut StepwellChat);

impl Chat {
    fn make(messages: &Value) -> Self {
        let json = json!({ "messages": messages }).to_string();
        // SAFETY: the pointers point to values of this function.
        let chat = unsafe { stepwell_chat_make(json.as_ptr(), json.len(), std::ptr::null_mut()) };
        assert!(!chat.is_null());
        Self(chat)
    }

    fn call(&self, call: &Value, now: u64) -> Value {
        let json = call.to_string();
        // SAFETY: as above.
        let given = taken(unsafe { stepwell_chat_call(self.0, json.as_ptr(), json.len(), now) });
        assert!(given.get("refused").is_none(), "{given}");
        given["answer"].clone()
    }

    /// Notes the outputs of a run.
    fn take(&self, outputs: &Value, now: u64) {
        self.call(
            &json!({ "chat": "apply", "events": list(outputs, "events") }),
            now,
        );
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        // SAFETY: the chat was created here, and is freed once.
        unsafe { stepwell_chat_free(self.0) };
    }
}

fn camel(name: &str) -> String {
    let mut letters = name.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '_' => text.extend(letters.next().map(|next| next.to_ascii_uppercase())),
            letter => text.push(letter),
        }
    }
    text
}

fn snake(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// Converts the names of the scenarios, which are Rust's, to camel case, except for schemas and the provider's own
/// words.
fn renamed(value: &Value, name: &str) -> Value {
    match value {
        Value::String(text)
            if matches!(
                name,
                "resumption"
                    | "at_limit"
                    | "background"
                    | "encoding"
                    | "moments"
                    | "after"
                    | "choice"
                    | "kind"
                    | "type"
            ) =>
        {
            camel(text).into()
        }
        Value::Object(_) if matches!(name, "parameters" | "schema" | "extra") => value.clone(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| (camel(name), renamed(value, name));
            Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| renamed(item, name)).collect(),
        other => other.clone(),
    }
}

fn compact(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn list<'v>(step: &'v Value, name: &str) -> &'v [Value] {
    step[name].as_array().map_or(&[], Vec::as_slice)
}

fn body(step: &Value) -> Vec<u8> {
    let mut text = String::new();
    for data in list(step, "sse") {
        text.push_str(&format!("data: {}\n\n", compact(data)));
    }
    for frame in list(step, "frames") {
        for name in ["id", "event"] {
            if let Some(value) = frame[name].as_str() {
                text.push_str(&format!("{name}: {value}\n"));
            }
        }
        text.push_str(&format!("data: {}\n\n", compact(&frame["data"])));
    }
    for line in list(step, "lines") {
        text.push_str(&format!("{}\n", compact(line)));
    }
    text.push_str(step["text"].as_str().unwrap_or_default());
    text.into_bytes()
}

struct Host {
    config: Value,
    runs: BTreeMap<String, Machine>,
    written: BTreeMap<String, Value>,
    chats: BTreeMap<String, Chat>,
    now: u64,
}

impl Host {
    fn new(scenario: &Value) -> Self {
        let config = renamed(&scenario["config"], "");
        let history = Value::from(list(scenario, "history"));
        let making = json!({ "config": config, "threadId": "thread-1", "history": history });
        let machine = Machine::make(&making).unwrap();
        let chat = Chat::make(&making["history"]);
        Self {
            config,
            chats: BTreeMap::from([("run".to_owned(), chat)]),
            runs: BTreeMap::from([("run".to_owned(), machine)]),
            written: BTreeMap::new(),
            now: 0,
        }
    }

    /// Notes an action of the app, or of its host, on the screen of a run.
    fn act(&mut self, name: &str, step: &Value, is_taken: bool) {
        let input = step["input"].as_str().unwrap();
        if input == "new_run" || !self.chats.contains_key(name) {
            let messages = self.runs[name].ask("messages");
            self.chats.insert(name.to_owned(), Chat::make(&messages));
        }
        let call = match input {
            "revive" => json!({ "chat": "resume" }),
            _ if !is_taken => return,
            "start" => {
                let id = &step["run_id"];
                let say = |text: &str| {
                    let id = format!("{}-user", id.as_str().unwrap());
                    json!({ "id": id, "role": "user", "content": text })
                };
                let message = step["say"].as_str().map(say);
                let message = message.or_else(|| step.get("message").cloned());
                json!({ "chat": "begin", "turn": id, "message": message })
            }
            "steer" => {
                let message =
                    json!({ "id": step["message_id"], "role": "user", "content": step["say"] });
                json!({ "chat": "steer", "message": message })
            }
            _ => return,
        };
        self.chats[name].call(&call, self.now);
    }

    fn restore(&mut self, name: &str) {
        let making = json!({ "config": self.config, "restore": self.runs[name].ask("snapshot") });
        self.runs
            .insert(name.to_owned(), Machine::make(&making).unwrap());
    }

    /// Returns the outputs of a step: its state, the error, when to wake, and the effects' ids and kinds.
    fn step(&mut self, step: &Value) -> Value {
        self.now = step["at"].as_u64().unwrap_or(self.now);
        let name = step["run"].as_str().unwrap_or("run").to_owned();
        let mut came = self.play(&name, step);
        let machine = &self.runs[&name];
        came.push(machine.poll());
        let mut gives = json!({ "state": snake(machine.ask("state").as_str().unwrap()) });
        if let Some(at) = machine.ask("pollTimeout").as_u64() {
            gives["wake_at"] = at.into();
        }
        let output = machine.ask("output");
        if !output.is_null() {
            gives["output"] = output;
        }
        let mut effects = Vec::new();
        let is_taken = came.iter().all(|given| given.get("refused").is_none());
        self.act(&name, step, is_taken);
        for given in came {
            if given.get("outputs").is_some() {
                self.chats[&name].take(&given["outputs"], self.now);
            }
            if given.get("refused").is_some() {
                gives["error"] = given["refused"]["reason"].clone();
            }
            for effect in list(&given["outputs"], "effects") {
                let (id, kind) = (&effect["id"], effect["type"].as_str().unwrap());
                if kind == "persist" {
                    let key = format!("{name} {}", id.as_str().unwrap());
                    self.written.insert(key, self.runs[&name].ask("snapshot"));
                }
                effects.push(json!({ "id": id, "effect": snake(kind) }));
            }
        }
        if !effects.is_empty() {
            gives["effects"] = effects.into();
        }
        gives
    }

    fn play(&mut self, name: &str, step: &Value) -> Vec<Value> {
        let now = self.now;
        let config = &self.config;
        let made = match step["input"].as_str().unwrap() {
            "new_run" => {
                let history = step["history_of"].as_str();
                let history = history.map_or(json!([]), |run| self.runs[run].ask("messages"));
                let thread = step["thread_id"].as_str().unwrap_or("thread-1");
                json!({ "config": config, "threadId": thread, "history": history })
            }
            "restore" => json!({ "config": config, "restore": self.runs[name].ask("snapshot") }),
            "revive" => {
                let snapshot = match step["written"].as_str() {
                    Some(written) => self.written[&format!("{name} {written}")].clone(),
                    None => self.runs[name].ask("snapshot"),
                };
                json!({ "config": config, "revive": snapshot, "nowMs": now })
            }
            "receive" => {
                let bytes = body(step);
                let cut = step["cut"]
                    .as_u64()
                    .map_or(bytes.len().max(1), |cut| cut as usize);
                let mut came = Vec::new();
                for piece in bytes.chunks(cut) {
                    if step["restore_between"] == true {
                        for each in self.runs.keys().cloned().collect::<Vec<_>>() {
                            self.restore(&each);
                        }
                    }
                    let effect = step["effect"].as_str().unwrap();
                    came.push(self.runs[name].receive(effect, piece, now));
                }
                return came;
            }
            _ => return vec![self.runs[name].call(&input(step), now)],
        };
        match Machine::make(&made) {
            Ok(machine) => {
                self.runs.insert(name.to_owned(), machine);
                Vec::new()
            }
            Err(refused) => vec![refused],
        }
    }
}

/// Returns the input of a step, as the machine takes it.
fn input(step: &Value) -> Value {
    let name = step["input"].as_str().unwrap();
    let mut input = Map::from_iter([("input".to_owned(), Value::from(camel(name)))]);
    let fields = step.as_object().unwrap().iter();
    for (field, value) in fields
        .filter(|(field, _)| !matches!(field.as_str(), "input" | "at" | "run" | "gives" | "about"))
    {
        input.insert(camel(field), value.clone());
    }
    match name {
        "start" => {
            let mut start = input.clone();
            start.remove("input");
            if let Some(options) = start.get_mut("options") {
                *options = renamed(options, "");
            }
            for (from, to) in [("say", "text"), ("answers", "resume")] {
                if let Some(value) = start.remove(from) {
                    start.insert(to.to_owned(), value);
                }
            }
            json!({ "input": "start", "start": start })
        }
        "refused" => {
            input.insert("body".to_owned(), compact(&step["body"]).into());
            input.into()
        }
        "hook_answered" => {
            let mut answer = input;
            answer.remove("input");
            let effect = answer.remove("effect");
            let says = answer.remove("says").unwrap();
            answer.insert("type".to_owned(), camel(says.as_str().unwrap()).into());
            json!({ "input": "hookAnswered", "effect": effect, "answer": answer })
        }
        "tool_asks" => {
            let question = json!({ "message": step["message"], "schema": step["schema"] });
            json!({
                "input": "toolAsks",
                "effect": step["effect"],
                "number": step["number"],
                "question": question,
            })
        }
        "cancel_call" => {
            let (hop, index) = step["call"].as_str().unwrap().split_once(':').unwrap();
            let number = |text: &str| text.parse::<u32>().unwrap();
            json!({ "input": "cancelCall", "call": { "hop": number(hop), "index": number(index) } })
        }
        "steer" => {
            let message =
                json!({ "id": step["message_id"], "role": "user", "content": step["say"] });
            json!({ "input": "steer", "message": message })
        }
        _ => input.into(),
    }
}

/// Returns the expectations of the file, as far as they are compared.
fn expected(gives: &Value) -> Value {
    let mut gives = gives.clone();
    let fields = gives.as_object_mut().unwrap();
    fields.remove("events");
    if let Some(effects) = fields.get_mut("effects") {
        let named = |effect: &Value| json!({ "id": effect["id"], "effect": effect["effect"] });
        *effects = effects.as_array().unwrap().iter().map(named).collect();
    }
    gives
}

/// Returns the differences from the file.
fn differences(scenario: &Value) -> Vec<String> {
    let mut host = Host::new(scenario);
    let mut wrong = Vec::new();
    for (index, step) in list(scenario, "steps").iter().enumerate() {
        let (came, said) = (host.step(step), expected(&step["gives"]));
        if came != said {
            wrong.push(format!("step {}: {said} is said, {came} came", index + 1));
        }
    }
    let digests: Map<_, _> = host
        .runs
        .iter()
        .map(|(name, machine)| (name.clone(), machine.ask("digest")))
        .collect();
    if Value::Object(digests.clone()) != scenario["digests"] {
        wrong.push(format!("the digests are {digests:?}"));
    }
    for (name, chat) in &host.chats {
        let usage = host.runs[name].ask("usage");
        chat.call(&json!({ "chat": "setUsage", "usage": usage }), 0);
        let digest = chat.call(&json!({ "chat": "digest" }), 0);
        if digest != scenario["chats"][name]["digest"] {
            let state = chat.call(&json!({ "chat": "state" }), 0);
            wrong.push(format!("the screen of {name} is {state}"));
        }
    }
    wrong
}

fn scenarios() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .filter(|path| path.file_name().is_some_and(|name| name != "schema.json"))
        .map(|path| {
            (
                path.display().to_string(),
                fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_scenario_comes_to_the_same_effects_and_digests() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 60, "only {}", scenarios.len());
    let mut wrong = Vec::new();
    for (name, text) in &scenarios {
        for difference in differences(&serde_json::from_str(text).unwrap()) {
            wrong.push(format!("{name}, {difference}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_changed_input_changes_the_digest() {
    let (_, text) = scenarios().swap_remove(0);
    let changed = serde_json::from_str(&text.replace("\"Hello", "\"Hallo")).unwrap();
    let wrong = differences(&changed);
    assert!(
        wrong.iter().any(|line| line.starts_with("the digests")),
        "{wrong:?}"
    );
}

#[test]
fn bad_pointers_and_bad_text_are_refused() {
    let refused = Machine::make(&json!({ "config": { "provider": "nobody" }, "threadId": "t" }));
    assert_eq!(refused.err().unwrap()["refused"]["kind"], "configuration");
    let not_text = [0xff_u8, 0xfe];
    // SAFETY: a null is allowed, and the other values are here.
    unsafe {
        let null = stepwell_machine_poll(std::ptr::null());
        assert_eq!(taken(null)["refused"]["kind"], "invalidArgument");
        assert!(stepwell_machine_make(not_text.as_ptr(), 2, std::ptr::null_mut()).is_null());
        stepwell_machine_free(std::ptr::null_mut());
        let version = stepwell_version();
        assert_eq!(version.length, env!("CARGO_PKG_VERSION").len());
        stepwell_text_free(version);
    }
}
