use crate::text::{StepwellText, refused, text};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use stepwell_json::{Chat, Refused};

/// The contents of a chat screen. Any thread may use it, one at a time; others wait.
#[derive(Debug)]
pub struct StepwellChat(Mutex<Chat>);

/// Creates a chat: `{}`, `{"turns", "turn"}` or `{"messages"}`, with `tools`. Returns null if that is refused; `refusal`,
/// unless it is null, then holds the reason: a text to be freed.
///
/// # Safety
/// `json` points to `length` bytes; `refusal` to a place for a text, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_chat_make(
    json: *const u8,
    length: usize,
    refusal: *mut StepwellText,
) -> *mut StepwellChat {
    // SAFETY: the caller's promise.
    let making = unsafe { text("the chat", json, length) };
    match making.and_then(Chat::make) {
        Ok(chat) => Box::into_raw(Box::new(StepwellChat(Mutex::new(chat)))),
        Err(why) => {
            if !refusal.is_null() {
                // SAFETY: the caller's promise.
                unsafe { refusal.write(refused(&why)) };
            }
            ptr::null_mut()
        }
    }
}

/// Frees a chat.
///
/// # Safety
/// `chat` was created here, or is null, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_chat_free(chat: *mut StepwellChat) {
    if !chat.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(chat) });
    }
}

/// Calls the chat, `{"chat": NAME, …}`, at a time in milliseconds since the epoch.
///
/// # Safety
/// `chat` is one that was made here and not freed; `json` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_chat_call(
    chat: *const StepwellChat,
    json: *const u8,
    length: usize,
    now_ms: u64,
) -> StepwellText {
    // SAFETY: the caller's promise.
    let (chat, call) = unsafe { (chat.as_ref(), text("the call", json, length)) };
    let chat = chat.ok_or_else(|| Refused::argument("the chat", "it is null"));
    match chat.and_then(|chat| Ok((chat, call?))) {
        Ok((StepwellChat(chat), call)) => {
            let mut chat = chat.lock().unwrap_or_else(PoisonError::into_inner);
            StepwellText::from(chat.call(call, now_ms))
        }
        Err(why) => refused(&why),
    }
}
