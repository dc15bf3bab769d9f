//! People and their secret numbers, the subject of the scripted models.

use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_io::tool::{Tool, ToolInvocation};

/// The known numbers. Clones share them.
#[derive(Clone, Debug)]
pub struct SecretNumbers(Arc<Mutex<BTreeMap<String, i64>>>);

impl Default for SecretNumbers {
    fn default() -> Self {
        let known = [("alice", 42), ("bob", 7)];
        let known = known.map(|(name, number)| (name.to_owned(), number));
        Self(Arc::new(Mutex::new(known.into())))
    }
}

impl SecretNumbers {
    /// Returns the result of `get_secret_number`.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn get(&self, call: &ToolInvocation) -> Result<String, String> {
        let name = name(call);
        let number = self.lock().get(&name).copied();
        let number = number.ok_or_else(|| format!("nobody here is called `{name}`"))?;
        Ok(number.to_string())
    }

    /// Runs `set_secret_number`.
    ///
    /// # Errors
    /// The name is unknown, or the number is too large.
    pub fn set(&self, call: &ToolInvocation) -> Result<String, String> {
        let (name, number) = (name(call), &call.arguments.value["number"]);
        let number = number.as_i64().ok_or("the number is too large")?;
        let mut numbers = self.lock();
        let known = numbers.get_mut(&name);
        *known.ok_or_else(|| format!("nobody here is called `{name}`"))? = number;
        Ok(format!("{name}'s secret number is {number} now"))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(call: &ToolInvocation) -> String {
    let name = call.arguments.value["name"].as_str().unwrap_or_default();
    name.to_lowercase()
}

/// Finds a number.
#[must_use]
pub fn get_tool() -> Tool {
    Tool::new("get_secret_number", "Finds someone's secret number.")
        .parameters(json!({
            "type": "object",
            "properties": { "name": { "type": "string", "description": "Whose number" } },
            "required": ["name"],
        }))
        .label(|arguments| Some(format!("Secret number of {}", arguments["name"].as_str()?)))
        .idempotent()
}

/// Changes a number, with the user's approval.
#[must_use]
pub fn set_tool() -> Tool {
    Tool::new("set_secret_number", "Gives someone another secret number.")
        .parameters(json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "Whose number" },
                "number": { "type": "integer" },
            },
            "required": ["name", "number"],
        }))
        .label(|arguments| {
            let name = arguments["name"].as_str()?;
            Some(format!("Secret number of {name}: {}", arguments["number"]))
        })
        .requires_approval()
}
