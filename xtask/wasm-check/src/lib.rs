//! Runs a turn of the core from the outside, so that the linker keeps all of it.

use std::borrow::Cow;
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::Message;
use stepwell_core::run::{Effect, Input, Output, RunConfig, RunMachine, Start};
use stepwell_core::tool::{Tool, ToolRegistry};
use stepwell_core::{Timestamp, provider};

/// Takes its input from the host, so that nothing can be computed at compile time: the bytes of a stream, and the time.
/// Gives the length of the snapshot after the turn.
///
/// # Safety
/// `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn check(bytes: *const u8, length: usize, now: u64) -> usize {
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let now = Timestamp(now);
    let run = || {
        let endpoint = provider::find("openai-compatible")
            .ok()?
            .endpoint(None, "m", Some("http://localhost"), None)
            .ok()?;
        let mut config = RunConfig::new(endpoint);
        config.tools = ToolRegistry::new()
            .register(Tool::new("ping", "Answers."))
            .ok()?;
        let config = Arc::new(config);
        let mut machine = RunMachine::new(
            Arc::clone(&config),
            "thread".into(),
            Conversation::default(),
        );
        machine
            .start(Start::new("run", Message::user("message", "Hello")), now)
            .ok()?;
        let mut streams = Vec::new();
        while let Some(output) = machine.poll_output() {
            if let Output::Effect(effect, Effect::OpenStream { .. }) = output {
                streams.push(effect);
            }
        }
        for effect in streams {
            for input in [
                Input::Opened {
                    effect,
                    content_type: None,
                },
                Input::Received {
                    effect,
                    bytes: Cow::Borrowed(bytes),
                },
                Input::Ended { effect },
            ] {
                machine.handle(input, now).ok()?;
                while machine.poll_output().is_some() {}
            }
        }
        let snapshot = machine.snapshot();
        RunMachine::restore(&snapshot, config).ok()?;
        Some(snapshot.len())
    };
    run().unwrap_or(0)
}
