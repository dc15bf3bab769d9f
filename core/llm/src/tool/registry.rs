use super::arguments::{Arguments, Rejection, parse_arguments};
use super::label::{MAX_CHARS, ToolLabel, one_line};
use super::schema::{Check, CheckSteps, SchemaFault, Spelling, Weight};
use crate::event::ToolDefinition;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A tool: its definition for the model, and the conditions under which it may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The definition that the model sees.
    pub definition: ToolDefinition,
    /// Whether running the tool twice has the same effect as running it once. Only such a tool is run again after a
    /// crash.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether the user must approve each call.
    #[serde(default)]
    pub requires_approval: bool,
    /// Whether repeating a call with the same arguments makes sense, as for a tool that reports progress.
    /// Repeated calls of other tools are limited.
    #[serde(default)]
    pub repeatable: bool,
    /// The maximum duration of a call. If absent, the run's limit applies.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// The text that the user sees for a call; by default the tool's name. It is code and therefore not stored.
    #[serde(skip)]
    pub label: ToolLabel,
}

impl Tool {
    /// Creates a tool that takes no arguments, needs no approval and is not idempotent.
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

    /// Sets the JSON Schema of the tool's arguments. Requests contain the schema in a form that the provider takes. If
    /// there is no such form, the tool is left out of the requests, and the app gets a warning.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.definition.parameters = Some(schema);
        self
    }

    /// Declares that running the tool twice has the same effect as running it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Requires the user's approval for each call.
    #[must_use]
    pub fn requires_approval(mut self) -> Self {
        self.requires_approval = true;
        self
    }

    /// Declares that repeating a call with the same arguments makes sense.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Sets the maximum duration of a call.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the text that the user sees for a call, computed from its arguments.
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

    /// Returns the tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

/// The reason why a tool cannot be registered.
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
        "there is a tool named `{name}` already: remove it with `without` first, or rename this one"
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
        /// The mistake.
        reason: String,
    },
    /// A check of a call against the schema could take too long or too much memory. The size of a schema, of what it
    /// unfolds to, and of its patterns is limited.
    #[error("the parameters of `{name}` cost too much to check: {reason} (at `{path}`)")]
    Costly {
        /// The tool.
        name: String,
        /// The place in the parameters, as a JSON Pointer.
        path: String,
        /// The limit that was reached.
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

/// The tools of a run. A registry is cheap to clone, and clones are independent: [`register`](Self::register) returns a
/// new registry, and [`add`](Self::add) changes no clone.
#[derive(Clone, Debug, Default)]
pub struct ToolRegistry {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug, Default)]
struct Inner {
    tools: Vec<Arc<Entry>>,
    definitions: Vec<ToolDefinition>,
    by_name: BTreeMap<String, usize>,
    /// The memory that the schemas take.
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
    /// Creates a registry without tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a registry with `tool` added at the end.
    ///
    /// # Errors
    /// The name is taken or not a tool name, or the parameters are not a JSON Schema or cost too much to check.
    pub fn register(&self, tool: Tool) -> Result<Self, ToolError> {
        let mut registry = self.clone();
        registry.add(tool)?;
        Ok(registry)
    }

    /// Adds `tool` at the end of this registry. Use it for many tools, because [`register`](Self::register) copies all
    /// tools that are already registered.
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
    /// The name is taken or not a tool name, or the parameters are not a JSON Schema or cost too much to check.
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

    /// Returns a registry without the tool of that name.
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

    /// Returns the tool with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.entry(name).map(|entry| &entry.tool)
    }

    /// Returns the text that the user sees for a call with these arguments: the tool's label, or its name.
    #[must_use]
    pub fn label(&self, name: &str, raw: &str) -> String {
        let label = self.own_label(name, raw);
        label.unwrap_or_else(|| one_line(name, MAX_CHARS))
    }

    /// Returns the tool's label for these arguments, if it has one.
    #[doc(hidden)]
    #[must_use]
    pub fn own_label(&self, name: &str, raw: &str) -> Option<String> {
        let label = self.get(name).map(|tool| &tool.label)?;
        if label.is_none() {
            return None;
        }
        label.of(&self.parse(name, raw).ok()?)
    }

    /// Returns the definitions that the model sees, in the order of registration.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.inner.definitions
    }

    /// Returns whether the registry is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.tools.is_empty()
    }

    /// Checks that the called tool exists, and that the arguments are JSON and fit its schema.
    ///
    /// # Errors
    /// The mistake in the call, described for the model.
    pub fn check(&self, name: &str, raw: &str) -> Result<(&Tool, Arguments), Rejection> {
        self.check_within(name, raw, &mut CheckSteps::default())
    }

    /// Checks a call like [`check`](Self::check), and subtracts the steps of the check from `left`.
    ///
    /// # Errors
    /// The mistake in the call, described for the model.
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

    /// Parses the arguments of a call into the form that the tool expects. Where a provider does not take the tool's
    /// schema, the model writes the arguments in another form.
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
    /// Serialises the tools in the order of registration.
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
