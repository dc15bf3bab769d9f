//! Stepwell's sans-IO API for languages that call C: `stepwell.h` has the functions and what they promise.
//!
//! What goes in and comes out is JSON (see `stepwell-json`), but for the bytes of a stream, which go in as they are. The
//! texts that are given back are the caller's, who frees them with `stepwell_text_free`.

mod registry;
mod text;

pub use registry::{
    StepwellRegistry, stepwell_registry_call, stepwell_registry_free, stepwell_registry_make,
};
pub use text::StepwellText;

use std::ptr;
use std::sync::{Mutex, PoisonError};
use stepwell_json::{Machine, Refused};
use text::{bytes, refused, text};

/// A run. It may be used from any thread, by one at a time; others wait.
#[derive(Debug)]
pub struct StepwellMachine(Mutex<Machine>);

/// The version of the library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn stepwell_version() -> StepwellText {
    StepwellText::from(env!("CARGO_PKG_VERSION").to_owned())
}

/// Frees a text that a function of this library gave.
///
/// # Safety
/// It was given by this library and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_text_free(text: StepwellText) {
    // SAFETY: the caller's promise.
    unsafe { text.free() }
}

/// Makes a machine of `{"config", "threadId", "history", "sharedState"}`, or with `restore` or `revive` of a stored one;
/// with `journal` it writes its inputs down. Null if that is refused; `refusal`, unless it is null, then holds why: a text to be freed.
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

/// Lets go of a machine.
///
/// # Safety
/// It was made here, or is null, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_machine_free(machine: *mut StepwellMachine) {
    if !machine.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(machine) });
    }
}

/// Gives the machine an input, `{"input": NAME, …}`, at `now_ms`, in milliseconds since the epoch.
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

/// Gives the machine bytes of the stream that the effect opened.
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

/// Takes what waits without an input: after a restore.
///
/// # Safety
/// `machine` is one that was made here and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_machine_poll(machine: *const StepwellMachine) -> StepwellText {
    // SAFETY: the caller's promise.
    let machine = unsafe { machine.as_ref() };
    with(machine, Ok(""), |machine, _| machine.poll_outputs())
}

/// Asks the machine something, `{"ask": NAME}`.
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

/// Closes the machine's journal, and gives its last lines.
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

/// Asks something of stored turns, `{"call": NAME, …}`.
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
            // A panic is caught inside, so a poisoned lock is no more broken than the machine knows.
            let mut machine = machine.lock().unwrap_or_else(PoisonError::into_inner);
            StepwellText::from(work(&mut machine, said))
        }
        Err(why) => refused(&why),
    }
}
