//! Stepwell for the web: the sans-IO API in JSON (`stepwell-json`) as WebAssembly. The package's TypeScript, in `js`,
//! has the classes over it, with their types and documentation.

// Public items here are internal to the package, and wasm-bindgen passes texts and arrays by value.
#![allow(missing_docs, clippy::needless_pass_by_value)]

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
#[derive(Debug)]
pub struct Machine(stepwell_json::Machine);

#[wasm_bindgen]
impl Machine {
    #[wasm_bindgen(constructor)]
    pub fn new(making: &str) -> Result<Self, String> {
        let machine = stepwell_json::Machine::make(making);
        machine.map(Self).map_err(|refused| refused.to_json())
    }

    pub fn call(&mut self, call: &str, now_ms: f64) -> String {
        self.0.call(call, at(now_ms))
    }

    pub fn receive(&mut self, effect: &str, bytes: &[u8], now_ms: f64) -> String {
        self.0.receive(effect, bytes, at(now_ms))
    }

    #[wasm_bindgen(js_name = pollOutputs)]
    pub fn poll_outputs(&mut self) -> String {
        self.0.poll_outputs()
    }

    pub fn ask(&mut self, question: &str) -> String {
        self.0.ask(question)
    }

    #[wasm_bindgen(js_name = endJournal)]
    pub fn end_journal(&mut self) -> String {
        self.0.end_journal()
    }
}

/// A double holds every millisecond of the next hundred thousand years.
fn at(now_ms: f64) -> u64 {
    now_ms as u64
}

#[wasm_bindgen]
#[derive(Debug)]
pub struct Registry(stepwell_json::Registry);

#[wasm_bindgen]
impl Registry {
    #[wasm_bindgen(constructor)]
    pub fn new(snapshot: Option<String>) -> Result<Self, String> {
        let registry = stepwell_json::Registry::make(snapshot.as_deref());
        registry.map(Self).map_err(|refused| refused.to_json())
    }

    pub fn call(&self, call: &str) -> String {
        self.0.call(call)
    }
}

#[wasm_bindgen]
#[derive(Debug)]
pub struct Chat(stepwell_json::Chat);

#[wasm_bindgen]
impl Chat {
    #[wasm_bindgen(constructor)]
    pub fn new(making: &str) -> Result<Self, String> {
        let chat = stepwell_json::Chat::make(making);
        chat.map(Self).map_err(|refused| refused.to_json())
    }

    pub fn call(&mut self, call: &str, now_ms: f64) -> String {
        self.0.call(call, at(now_ms))
    }
}

#[wasm_bindgen]
#[must_use]
pub fn session(call: &str) -> String {
    stepwell_json::session(call)
}

#[wasm_bindgen(js_name = mediaPart)]
#[must_use]
pub fn media_part(of: &str, bytes: Option<Vec<u8>>) -> String {
    stepwell_json::media_part(of, bytes.as_deref())
}

/// Returns the version of the library, such as `0.1.0`.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
