//! Many runs at once.

use crate::error::Thrown;
use crate::{
    EndValue, HandleValue, HandlesValue, RegisteredValue, RegistryEventsValue, ThreadKeyValue,
    ThreadKeysValue, ThreadValue, from_js, to_js,
};
use serde::Deserialize;
use std::sync::Arc;
use stepwell_json::{Refused, RunHandle, ThreadKey};
use wasm_bindgen::prelude::*;

/// Which run owns which thread, what the user looks at, and what is unread. It starts nothing and calls nobody back.
///
/// A thread has one owner at most. Whoever registers takes it over, and the handle before is stale: check the handle with
/// whatever the run's network, tools and timers bring, and drop what comes with a stale one. A call with a stale handle
/// throws a `StepwellError` of the kind `stale`. A mere id names the thread of an app that has one server and no rooms.
#[wasm_bindgen]
#[derive(Debug)]
pub struct RunRegistry {
    registry: Arc<stepwell_json::RunRegistry>,
}

/// A thread, or its mere id.
#[derive(Deserialize)]
#[serde(untagged)]
enum Thread {
    Id(String),
    Key(ThreadKey),
}

fn thread(value: &JsValue) -> Result<ThreadKey, Thrown> {
    Ok(match from_js("the thread", value)? {
        Thread::Key(key) => key,
        Thread::Id(thread) => ThreadKey {
            thread,
            ..ThreadKey::default()
        },
    })
}

fn handle(value: &JsValue) -> Result<RunHandle, Thrown> {
    from_js("the handle", value)
}

/// A handle, or `undefined`.
fn maybe(handle: Option<RunHandle>) -> Option<HandleValue> {
    handle.map(|handle| to_js(&handle).unchecked_into())
}

#[wasm_bindgen]
impl RunRegistry {
    /// A registry with no runs, or a stored one: what `snapshot` gave.
    #[wasm_bindgen(constructor)]
    pub fn new(snapshot: Option<String>) -> Result<Self, JsValue> {
        let registry = match snapshot {
            None => stepwell_json::RunRegistry::new(),
            Some(snapshot) => stepwell_json::RunRegistry::restore(&snapshot).map_err(thrown)?,
        };
        Ok(Self { registry })
    }

    /// The registry as text, to be stored.
    #[must_use]
    pub fn snapshot(&self) -> String {
        self.registry.snapshot()
    }

    /// A new run takes the thread over, whatever ran there.
    pub fn register(&self, thread: &ThreadValue) -> Result<RegisteredValue, JsValue> {
        let registered = self.registry.register(self::thread(thread)?);
        Ok(to_js(&registered).unchecked_into())
    }

    /// The run goes on under a new handle, with the hop raised, if `old` still owns the thread.
    pub fn replace(&self, old: &HandleValue) -> Result<HandleValue, JsValue> {
        let handle = self.registry.replace(handle(old)?).map_err(thrown)?;
        Ok(to_js(&handle).unchecked_into())
    }

    /// Whether what came with the handle may be given to its run; throws if not.
    pub fn check(&self, handle: &HandleValue) -> Result<(), JsValue> {
        Ok(self.registry.check(self::handle(handle)?).map_err(thrown)?)
    }

    /// The run is over. Marks its thread unread if the user does not look at it.
    pub fn complete(&self, handle: &HandleValue, outcome: &EndValue) -> Result<(), JsValue> {
        let (handle, outcome) = (self::handle(handle)?, from_js("the outcome", outcome)?);
        Ok(self.registry.complete(handle, outcome).map_err(thrown)?)
    }

    /// The app could not dispose of a run. That undoes nothing; it is said as an event.
    #[wasm_bindgen(js_name = disposalFailed)]
    pub fn disposal_failed(&self, handle: &HandleValue, message: &str) -> Result<(), JsValue> {
        let failed = self
            .registry
            .disposal_failed(self::handle(handle)?, message);
        Ok(failed.map_err(thrown)?)
    }

    /// The run that owns the thread.
    pub fn current(&self, thread: &ThreadValue) -> Result<Option<HandleValue>, JsValue> {
        Ok(maybe(self.registry.current(self::thread(thread)?)))
    }

    /// All runs that own a thread, in the order of their threads' keys.
    #[must_use]
    pub fn running(&self) -> HandlesValue {
        to_js(&self.registry.running()).unchecked_into()
    }

    /// The user looks at this thread now, or at none. It is no longer unread.
    #[wasm_bindgen(js_name = lookAt)]
    pub fn look_at(&self, thread: Option<ThreadValue>) -> Result<(), JsValue> {
        let thread = thread.map(|thread| self::thread(&thread)).transpose()?;
        self.registry.look_at(thread);
        Ok(())
    }

    /// The thread that the user looks at.
    #[wasm_bindgen(getter, js_name = lookedAt)]
    #[must_use]
    pub fn looked_at(&self) -> Option<ThreadKeyValue> {
        let key = self.registry.looked_at();
        key.map(|key| to_js(&key).unchecked_into())
    }

    /// Whether a run has ended in the thread since the user last looked at it.
    pub fn unread(&self, thread: &ThreadValue) -> Result<bool, JsValue> {
        Ok(self.registry.unread(self::thread(thread)?))
    }

    /// All unread threads, in the order of their keys.
    #[wasm_bindgen(js_name = unreadThreads)]
    #[must_use]
    pub fn unread_threads(&self) -> ThreadKeysValue {
        to_js(&self.registry.unread_threads()).unchecked_into()
    }

    /// Forgets the thread. A run that owned it is now stale, and given back: cancel it and dispose of it.
    pub fn remove(&self, thread: &ThreadValue) -> Result<Option<HandleValue>, JsValue> {
        Ok(maybe(self.registry.remove(self::thread(thread)?)))
    }

    /// Takes the events that wait, in order: each goes to one caller.
    #[wasm_bindgen(js_name = takeEvents)]
    #[must_use]
    pub fn take_events(&self) -> RegistryEventsValue {
        to_js(&self.registry.take_events()).unchecked_into()
    }
}

fn thrown(error: impl Into<Refused>) -> Thrown {
    Thrown::from(error.into())
}
