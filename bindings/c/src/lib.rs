//! Stepwell's sans-IO API for languages that call C: `stepwell.h` declares and documents the functions.
//!
//! Arguments and results are JSON (see `stepwell-json`), except for the bytes of a stream, which are passed unchanged.
//! Returned texts belong to the caller, who frees them with `stepwell_text_free`.

mod chat;
mod registry;
mod text;

pub use chat::{StepwellChat, stepwell_chat_call, stepwell_chat_free, stepwell_chat_make};
pub use registry::{
    StepwellRegistry, stepwell_registry_call, stepwell_registry_free, stepwell_registry_make,
};
pub use text::StepwellText;

use std::ptr;
use std::sync::{Mutex, PoisonError};
use stepwell_json::{Machine, Refused};
use text::{bytes, refused, text};

/// A run. Any thread may use it, one at a time; others wait.
#[derive(Debug)]
pub struct StepwellMachine(Mutex<Machine>);

/// Returns the version of the library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn stepwell_version() -> StepwellText {
    StepwellText::from(env!("CARGO_PKG_VERSION").to_owned())
}

/// Frees a text that a function of this library returned.
///
/// # Safety
/// This library returned the text, and the text is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_text_free(text: StepwellText) {
    // SAFETY: the caller's promise.
    unsafe { text.free() }
}

/// Creates a machine from `{"config", "threadId", "history", "sharedState"}`, or with `restore` or `revive` from a
/// stored one; with `journal` the machine records its inputs. Returns null if the machine is refused; `refusal`, unless
/// it is null, then holds the reason: a text to be freed.
///
/// # Safety
/// `json` points to `length` bytes, and `refusal` to a place for a text, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_machine_make(
    json: *const u8,
    length: usize,
    refusal: *mut StepwellText,
) -> *mut StepwellMachine {
    // SAFETY: the caller's promise.
    let making = unsafe { text("the machine", json, length) };
    match making.and_then(Machine::make) {
        Ok(machine) => Box::into_raw(Box::new(StepwellMachine(Mutex::new(machine)))),
        Err(why) => {
            if !refusal.is_null() {
                // SAFETY: the caller's promise.
                unsafe { refusal.write(refused(&why)) };
            }
            ptr::null_mut()
        }
    }
}

/// Frees a machine.
///
/// # Safety
/// `machine` was created here, or is null, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_machine_free(machine: *mut StepwellMachine) {
    if !machine.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(machine) });
    }
}

/// Passes the machine an input, `{"input": NAME, …}`, at `now_ms`, in milliseconds since the epoch.
///
/// # Safety
/// `machine` is one that was made here and not freed; `json` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_machine_call(
    machine: *const StepwellMachine,
    json: *const u8,
    length: usize,
    now_ms: u64,
) -> StepwellText {
    // SAFETY: the caller's promise.
    let (machine, call) = unsafe { (machine.as_ref(), text("the call", json, length)) };
    with(machine, call, |machine, call| machine.call(call, now_ms))
}

/// Passes the machine bytes of the stream that the effect opened.
///
/// # Safety
/// `machine` is one that was made here and not freed; `effect` points to `effect_length` bytes and `body` to
/// `body_length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_machine_receive(
    machine: *const StepwellMachine,
    effect: *const u8,
    effect_length: usize,
    body: *const u8,
    body_length: usize,
    now_ms: u64,
) -> StepwellText {
    // SAFETY: the caller's promise.
    let (machine, effect, body) = unsafe {
        (
            machine.as_ref(),
            text("the effect", effect, effect_length),
            bytes(body, body_length),
        )
    };
    with(machine, effect, |machine, effect| {
        machine.receive(effect, body, now_ms)
    })
}

/// Takes the outputs that wait without an input: after a restore.
///
/// # Safety
/// `machine` is one that was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_machine_poll(machine: *const StepwellMachine) -> StepwellText {
    // SAFETY: the caller's promise.
    let machine = unsafe { machine.as_ref() };
    with(machine, Ok(""), |machine, _| machine.poll_outputs())
}

/// Answers a question to the machine, `{"ask": NAME}`.
///
/// # Safety
/// `machine` is one that was made here and not freed; `json` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_machine_ask(
    machine: *const StepwellMachine,
    json: *const u8,
    length: usize,
) -> StepwellText {
    // SAFETY: the caller's promise.
    let (machine, question) = unsafe { (machine.as_ref(), text("the question", json, length)) };
    with(machine, question, Machine::ask)
}

/// Closes the machine's journal, and returns its last lines.
///
/// # Safety
/// `machine` is one that was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_machine_end_journal(
    machine: *const StepwellMachine,
) -> StepwellText {
    // SAFETY: the caller's promise.
    let machine = unsafe { machine.as_ref() };
    with(machine, Ok(""), |machine, _| machine.end_journal())
}

/// Answers a call about stored turns, `{"call": NAME, …}`.
///
/// # Safety
/// `json` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_session_call(json: *const u8, length: usize) -> StepwellText {
    // SAFETY: the caller's promise.
    match unsafe { text("the call", json, length) } {
        Ok(call) => StepwellText::from(stepwell_json::session(call)),
        Err(why) => refused(&why),
    }
}

fn with(
    machine: Option<&StepwellMachine>,
    said: Result<&str, Refused>,
    work: impl FnOnce(&mut Machine, &str) -> String,
) -> StepwellText {
    let machine = machine.ok_or_else(|| Refused::argument("the machine", "it is null"));
    match machine.and_then(|machine| Ok((machine, said?))) {
        Ok((StepwellMachine(machine), said)) => {
            // A poisoned lock is safe to use: the machine catches panics, and records that it broke.
            let mut machine = machine.lock().unwrap_or_else(PoisonError::into_inner);
            StepwellText::from(work(&mut machine, said))
        }
        Err(why) => refused(&why),
    }
}
