use crate::text::{StepwellText, refused, text};
use std::ptr;
use stepwell_json::{Refused, Registry};

/// The runs of many threads. Any thread may use it.
#[derive(Debug)]
pub struct StepwellRegistry(Registry);

/// Creates a registry with no runs, or restores a stored one: `snapshot` is what its `snapshot` returned. Returns null
/// if the snapshot is refused; `refusal`, unless it is null, then holds the reason: a text to be freed.
///
/// # Safety
/// `snapshot` points to `length` bytes, or is null; `refusal` to a place for a text, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_registry_make(
    snapshot: *const u8,
    length: usize,
    refusal: *mut StepwellText,
) -> *mut StepwellRegistry {
    let made = if snapshot.is_null() {
        Registry::make(None)
    } else {
        // SAFETY: the caller's promise.
        let snapshot = unsafe { text("the snapshot", snapshot, length) };
        snapshot.and_then(|snapshot| Registry::make(Some(snapshot)))
    };
    match made {
        Ok(registry) => Box::into_raw(Box::new(StepwellRegistry(registry))),
        Err(why) => {
            if !refusal.is_null() {
                // SAFETY: the caller's promise.
                unsafe { refusal.write(refused(&why)) };
            }
            ptr::null_mut()
        }
    }
}

/// Frees a registry.
///
/// # Safety
/// `registry` was created here, or is null, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_registry_free(registry: *mut StepwellRegistry) {
    if !registry.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(registry) });
    }
}

/// Calls the registry, `{"call": NAME, …}`.
///
/// # Safety
/// `registry` is one that was made here and not freed; `json` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stepwell_registry_call(
    registry: *const StepwellRegistry,
    json: *const u8,
    length: usize,
) -> StepwellText {
    // SAFETY: the caller's promise.
    let (registry, call) = unsafe { (registry.as_ref(), text("the call", json, length)) };
    let registry = registry.ok_or_else(|| Refused::argument("the registry", "it is null"));
    match registry.and_then(|registry| Ok((registry, call?))) {
        Ok((StepwellRegistry(registry), call)) => StepwellText::from(registry.call(call)),
        Err(why) => refused(&why),
    }
}
