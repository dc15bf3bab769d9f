//! All invariants of a run, checked over any configuration by one call.

use crate::chaos::{Action, Chaos, ToolCode, Twin, actions};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use stepwell_core::run::{Durability, RunConfig, ToolInvocation};
use stepwell_core::tool::ToolResult;

/// The cases of a check, if neither the caller nor `PROPTEST_CASES` says otherwise.
const DEFAULT_CASES: u32 = 256;

/// The attempts to find a shorter case that fails.
const MAX_SHRINK_ITERS: u32 = 4_000;

/// The code of an app's tools, by name.
#[derive(Clone, Default)]
pub struct Tools(BTreeMap<String, ToolCode>);

impl Tools {
    /// Creates an empty set of tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the code of a tool.
    #[must_use]
    pub fn on(
        mut self,
        name: impl Into<String>,
        code: impl Fn(&ToolInvocation) -> ToolResult + Send + Sync + 'static,
    ) -> Self {
        self.0.insert(name.into(), Arc::new(code));
        self
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Checks all [invariants](crate::chaos::Invariant) of a run with this configuration, over a host, a network, a store and a
/// user that do anything. The model calls the configuration's tools with arguments that fit their schemas, and their code
/// is called for it. `PROPTEST_CASES` sets the number of cases, which is 256 otherwise.
///
/// ```
/// use stepwell_core::dialect::Dialect;
/// use stepwell_core::tool::Tool;
/// use stepwell_testing::{Tools, check_invariants, config};
///
/// let mut config = config(Dialect::Anthropic);
/// config.tools = config.tools.register(Tool::new("weather", "The weather.")).unwrap();
/// # let config = config;
/// check_invariants(&config, Tools::new().on("weather", |_| Ok("sunny".into())));
/// ```
///
/// # Panics
/// If an invariant is broken, with the shortest case that was found, and the path of a scenario file of it.
pub fn check_invariants(config: &RunConfig, tools: Tools) {
    if let Err(failure) = InvariantCheck::new(config).tools(tools).run() {
        panic!("{failure}");
    }
}

/// A check of all invariants, for more cases or another place of the failing ones.
#[derive(Clone, Debug)]
#[must_use]
pub struct InvariantCheck {
    config: RunConfig,
    tools: Tools,
    cases: Option<u32>,
    folder: Option<PathBuf>,
}

impl InvariantCheck {
    /// A check of runs with this configuration.
    pub fn new(config: &RunConfig) -> Self {
        Self {
            config: config.clone(),
            tools: Tools::new(),
            cases: None,
            folder: None,
        }
    }

    /// Sets the code of the tools.
    pub fn tools(mut self, tools: Tools) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the number of cases.
    pub const fn cases(mut self, cases: u32) -> Self {
        self.cases = Some(cases);
        self
    }

    /// Sets the folder in which the scenario of a failing case is written, instead of the system's temporary one.
    pub fn scenario_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Tries the cases.
    ///
    /// # Errors
    /// The shortest case that was found to break an invariant.
    pub fn run(&self) -> Result<(), Box<Failure>> {
        let asked = std::env::var("PROPTEST_CASES").ok();
        let asked = asked.and_then(|cases| cases.parse().ok());
        let mut runner = TestRunner::new(Config {
            cases: self.cases.or(asked).unwrap_or(DEFAULT_CASES),
            failure_persistence: None,
            max_shrink_iters: MAX_SHRINK_ITERS,
            ..Config::default()
        });
        let strategy = (actions(), twins(), any::<bool>());
        let failed = runner.run(&strategy, |(actions, twin, has_store)| {
            let mut chaos = self.chaos(twin, has_store);
            apply(&mut chaos, &actions).map_err(TestCaseError::fail)
        });
        match failed {
            Ok(()) => Ok(()),
            Err(TestError::Abort(reason)) => {
                Err(self.failure(reason.to_string(), Vec::new(), None))
            }
            Err(TestError::Fail(reason, (actions, twin, has_store))) => {
                let mut chaos = self.chaos(twin, has_store);
                let message = apply(&mut chaos, &actions).err();
                let message = message.unwrap_or_else(|| reason.to_string());
                let mut scenario = chaos.scenario();
                scenario["about"] = message.clone().into();
                Err(self.failure(message, actions, Some(scenario)))
            }
        }
    }

    /// A configuration without a store is tried with one too, as hosts crash only where there is one; and one with a store
    /// without it, where chunks are compared.
    fn chaos(&self, twin: Twin, has_store: bool) -> Chaos {
        let mut config = self.config.clone();
        if matches!(twin, Twin::Cut(_)) {
            config.durability = Durability::None;
        } else if has_store && config.durability == Durability::None {
            config.durability = Durability::Blocks { attempts: 2 };
        }
        Chaos::new(config).tools(self.tools.0.clone()).twin(twin)
    }

    fn failure(
        &self,
        message: String,
        actions: Vec<Action>,
        scenario: Option<Value>,
    ) -> Box<Failure> {
        let folder = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        let file = folder.join(format!("stepwell-{}.json", std::process::id()));
        let written = scenario.as_ref().and_then(|scenario| {
            let text = serde_json::to_string_pretty(scenario).ok()?;
            std::fs::create_dir_all(&folder).ok()?;
            std::fs::write(&file, text).ok()
        });
        Box::new(Failure {
            message,
            actions,
            scenario: scenario.unwrap_or_default(),
            file: written.map(|()| file),
        })
    }
}

/// The second runs with which a run is compared.
fn twins() -> impl Strategy<Value = Twin> {
    prop_oneof![
        (1..40usize).prop_map(Twin::Cut),
        Just(Twin::Restored),
        Just(Twin::Cloned),
    ]
}

/// Lets these things happen, and the run come to its end. A panic of the machine is a failure too.
fn apply(chaos: &mut Chaos, actions: &[Action]) -> Result<(), String> {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        for action in actions {
            chaos.apply(*action);
        }
        chaos.finish()
    }));
    match ended {
        Ok(ended) => ended.map_err(|violation| violation.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("a panic: {}", text.unwrap_or("without a message")))
        }
    }
}

/// The shortest case that was found to break an invariant.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The invariant, and how it was broken.
    pub message: String,
    /// The actions of the run.
    pub actions: Vec<Action>,
    /// The run in the form of [scenario files](crate::scenario), which every language plays.
    pub scenario: Value,
    /// The file that the scenario was written to, if it could be written.
    pub file: Option<PathBuf>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an invariant is broken: {}", self.message)?;
        let steps = self.scenario["steps"].as_array();
        for (number, step) in (1..).zip(steps.into_iter().flatten()) {
            write!(f, "\n{number:>4}. {}", line(step))?;
        }
        if let Some(file) = &self.file {
            write!(f, "\nthe scenario: {}", file.display())?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// A step in one line: its input, its effect, and the rest.
fn line(step: &Value) -> String {
    let mut line = step["input"].as_str().unwrap_or_default().to_owned();
    if let Some(effect) = step["effect"].as_str() {
        let _ = write!(line, " {effect}");
    }
    for (name, value) in step.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "input" | "effect" | "at") {
            let _ = write!(line, " {name}={value}");
        }
    }
    line
}
