use super::arguments::{Arguments, Rejection, parse_arguments};
use super::label::{LONGEST, ToolLabel, one_line};
use super::schema::{Check, CheckSteps, SchemaFault, Spelling, Weight};
use crate::event::ToolDefinition;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A tool: how the model sees it, and how it may be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// How the model sees it.
    pub definition: ToolDefinition,
    /// Whether running it twice does no more than running it once. Only such a tool is run again after a crash.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether the user must allow each call.
    #[serde(default)]
    pub requires_approval: bool,
    /// Whether asking again with the same arguments makes sense, as for a tool that looks how far something has come.
    /// Else the model is told when it goes in a circle: `RepeatLimit`.
    #[serde(default)]
    pub repeatable: bool,
    /// The longest it may take; the run's own limit if absent.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// What the user is shown of a call; the tool's name if it says nothing. Not stored: it is code.
    #[serde(skip)]
    pub label: ToolLabel,
}

impl Tool {
    /// A tool that takes no arguments, needs no approval and is not idempotent.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            definition: ToolDefinition {
                name: name.into(),
                description: description.into(),
                parameters: Some(json!({ "type": "object", "properties": {} })),
                ..ToolDefinition::default()
            },
            idempotent: false,
            requires_approval: false,
            repeatable: false,
            timeout: None,
            label: ToolLabel::default(),
        }
    }

    /// Sets the JSON Schema of its arguments. A provider is sent it in words that it takes; if there are none, the tool
    /// is left out of the run's requests, and a `RunEvent::Warning` says so.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.definition.parameters = Some(schema);
        self
    }

    /// Says that running it twice does no more than running it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Says that the user must allow each call.
    #[must_use]
    pub fn requires_approval(mut self) -> Self {
        self.requires_approval = true;
        self
    }

    /// Says that asking again with the same arguments makes sense.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Sets the longest that a call may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets what the user is shown of a call, by its arguments: a path, a city.
    ///
    /// ```
    /// use stepwell_llm::tool::{Tool, ToolRegistry};
    ///
    /// let weather = Tool::new("get_weather", "The weather in a city.")
    ///     .label(|arguments| Some(format!("Weather in {}", arguments["city"].as_str()?)));
    /// let registry = ToolRegistry::new().register(weather)?;
    /// assert_eq!(registry.label("get_weather", r#"{"city":"Bergen"}"#), "Weather in Bergen");
    /// assert_eq!(registry.label("get_weather", "{}"), "get_weather");
    /// # Ok::<(), stepwell_llm::tool::ToolError>(())
    /// ```
    #[must_use]
    pub fn label(
        mut self,
        label: impl Fn(&Value) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.label = ToolLabel::new(label);
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

/// Why a tool cannot be registered: the app's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ToolError {
    /// No provider would accept the name.
    #[error(
        "`{name}` is not a tool name: use 1 to 64 of the letters a–z and A–Z, digits, `_` and `-`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Another tool has the name.
    #[error(
        "there is a tool named `{name}` already: take the other out with `without` first, or name this one otherwise"
    )]
    Duplicate {
        /// The name.
        name: String,
    },
    /// No tool has the name.
    #[error("there is no tool named `{name}`: register it first")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The parameters are not a JSON Schema.
    #[error("the parameters of `{name}` are not a JSON Schema: {reason}")]
    Schema {
        /// The tool.
        name: String,
        /// What is wrong with them.
        reason: String,
    },
    /// They are a JSON Schema, and a check of a call against it could take too long or too much memory. What a schema
    /// unfolds to, its size and its patterns are bounded.
    #[error("the parameters of `{name}` cost too much to check: {reason} (at `{path}`)")]
    Costly {
        /// The tool.
        name: String,
        /// Where in the parameters, as a JSON Pointer.
        path: String,
        /// Which bound was reached.
        reason: String,
    },
}

impl ToolError {
    fn of_schema(name: &str, fault: SchemaFault) -> Self {
        let name = name.to_owned();
        if !fault.is_too_costly {
            let reason = fault.to_string();
            return Self::Schema { name, reason };
        }
        let SchemaFault { path, reason, .. } = fault;
        Self::Costly { name, path, reason }
    }
}

/// The tools of a run. A run keeps those it began with: [`register`](Self::register) gives a new registry, and
/// [`add`](Self::add) changes no clone. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct ToolRegistry {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug, Default)]
struct Inner {
    tools: Vec<Arc<Entry>>,
    definitions: Vec<ToolDefinition>,
    by_name: BTreeMap<String, usize>,
    /// What the schemas take in memory.
    weight: Weight,
}

impl Inner {
    fn push(&mut self, entry: Arc<Entry>) {
        let definition = &entry.tool.definition;
        self.by_name
            .insert(definition.name.clone(), self.tools.len());
        self.definitions.push(definition.clone());
        self.weight = self.weight.plus(entry.schema.weight());
        self.tools.push(entry);
    }
}

#[derive(Debug)]
struct Entry {
    tool: Tool,
    schema: Check,
    spelling: Option<Spelling>,
}

impl ToolRegistry {
    /// A registry without tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A registry with `tool` added at the end.
    ///
    /// # Errors
    /// The name is taken or no tool name, or the parameters are not a JSON Schema, or one that costs too much to check.
    pub fn register(&self, tool: Tool) -> Result<Self, ToolError> {
        let mut registry = self.clone();
        registry.add(tool)?;
        Ok(registry)
    }

    /// Adds `tool` at the end of this registry; its clones stay as they are. What many tools take grows with their size
    /// alone, which [`register`](Self::register) cannot do: it copies all that there are.
    ///
    /// ```
    /// use stepwell_llm::tool::{Tool, ToolRegistry};
    ///
    /// let mut registry = ToolRegistry::new();
    /// for room in ["kitchen", "hall"] {
    ///     registry.add(Tool::new(format!("light_{room}"), "Turns the light on."))?;
    /// }
    /// assert_eq!(registry.definitions().len(), 2);
    /// # Ok::<(), stepwell_llm::tool::ToolError>(())
    /// ```
    ///
    /// # Errors
    /// The name is taken or no tool name, or the parameters are not a JSON Schema, or one that costs too much to check.
    /// The registry is as it was.
    pub fn add(&mut self, tool: Tool) -> Result<(), ToolError> {
        let name = tool.definition.name.clone();
        let well_named = (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !well_named {
            return Err(ToolError::Name { name });
        }
        if self.inner.by_name.contains_key(&name) {
            return Err(ToolError::Duplicate { name });
        }
        let parameters = tool
            .definition
            .parameters
            .as_ref()
            .unwrap_or(&Value::Bool(true));
        let faulty = |fault| ToolError::of_schema(&name, fault);
        let schema = Check::new(parameters).map_err(faulty)?;
        let weight = self.inner.weight.plus(schema.weight());
        weight.fits().map_err(faulty)?;
        let spelling = Spelling::of(parameters);
        Arc::make_mut(&mut self.inner).push(Arc::new(Entry {
            tool,
            schema,
            spelling,
        }));
        Ok(())
    }

    /// A registry without the tool of that name; the same if there is none.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        self.only(|other| other != name)
    }

    /// Returns a registry of the tools whose names are wanted.
    #[must_use]
    pub fn only(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let mut inner = Inner::default();
        let tools = self.inner.tools.iter();
        for entry in tools.filter(|entry| is_wanted(entry.tool.name())) {
            inner.push(Arc::clone(entry));
        }
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Appends the tools of another registry. No name may be in both.
    #[must_use]
    pub fn with_all(mut self, others: &Self) -> Self {
        let inner = Arc::make_mut(&mut self.inner);
        for entry in &others.inner.tools {
            inner.push(Arc::clone(entry));
        }
        self
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.entry(name).map(|entry| &entry.tool)
    }

    /// What the user is shown of a call with these arguments, as the model wrote them: the tool's label, or its name.
    #[must_use]
    pub fn label(&self, name: &str, raw: &str) -> String {
        let label = self.own_label(name, raw);
        label.unwrap_or_else(|| one_line(name, LONGEST))
    }

    /// The tool's label for these arguments, if it has one.
    #[doc(hidden)]
    #[must_use]
    pub fn own_label(&self, name: &str, raw: &str) -> Option<String> {
        let label = self.get(name).map(|tool| &tool.label)?;
        if label.is_none() {
            return None;
        }
        label.of(&self.parse(name, raw).ok()?)
    }

    /// The tools as the model sees them, in the order in which they were registered.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.inner.definitions
    }

    /// Whether there is no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.tools.is_empty()
    }

    /// Checks a call: that the tool exists, and that the arguments are JSON and fit its schema.
    ///
    /// # Errors
    /// What is wrong with the call, in words for the model.
    pub fn check(&self, name: &str, raw: &str) -> Result<(&Tool, Arguments), Rejection> {
        self.check_within(name, raw, &mut CheckSteps::default())
    }

    /// Checks a call like [`check`](Self::check), and subtracts the steps of the check from `left`.
    ///
    /// # Errors
    /// What is wrong with the call, in words for the model.
    #[doc(hidden)]
    pub fn check_within(
        &self,
        name: &str,
        raw: &str,
        left: &mut CheckSteps,
    ) -> Result<(&Tool, Arguments), Rejection> {
        let Some(entry) = self.entry(name) else {
            let names: Vec<_> = self
                .inner
                .tools
                .iter()
                .map(|entry| entry.tool.name())
                .collect();
            let available = if names.is_empty() {
                "(none)".to_owned()
            } else {
                names.join(", ")
            };
            return Err(Rejection::UnknownTool {
                name: name.to_owned(),
                available,
            });
        };
        let value = self.parse(name, raw).map_err(|error| Rejection::NotJson {
            name: name.to_owned(),
            reason: error.to_string(),
        })?;
        entry
            .schema
            .check_within(&value, left)
            .map_err(|reason| Rejection::Schema {
                name: name.to_owned(),
                reason,
            })?;
        Ok((
            &entry.tool,
            Arguments {
                raw: raw.to_owned(),
                value,
            },
        ))
    }

    /// The arguments of a call, as the tool is given them. Where a provider does not take the tool's schema as it is,
    /// the model writes them in another way.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn parse(&self, name: &str, raw: &str) -> Result<Value, serde_json::Error> {
        let value = parse_arguments(raw)?;
        Ok(match self.spelling(name) {
            Some(spelling) => spelling.read(value),
            None => value,
        })
    }

    /// Returns how the model writes the tool's arguments, if it does not write them as they are.
    #[doc(hidden)]
    #[must_use]
    pub fn spelling(&self, name: &str) -> Option<&Spelling> {
        self.entry(name)?.spelling.as_ref()
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.inner
            .by_name
            .get(name)
            .map(|&index| &*self.inner.tools[index])
    }
}

impl PartialEq for ToolRegistry {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
            || self.inner.tools.iter().map(|entry| &entry.tool).eq(other
                .inner
                .tools
                .iter()
                .map(|entry| &entry.tool))
    }
}

impl Serialize for ToolRegistry {
    /// The tools, in the order in which they were registered.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.inner.tools.iter().map(|entry| &entry.tool))
    }
}

impl<'de> Deserialize<'de> for ToolRegistry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut registry = Self::new();
        for tool in Vec::<Tool>::deserialize(deserializer)? {
            registry.add(tool).map_err(serde::de::Error::custom)?;
        }
        Ok(registry)
    }
}
