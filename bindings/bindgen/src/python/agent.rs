//! Python: the options of an agent, as the initializer of a class that `Agent` extends.

use super::{FORMS, STYLE, WIDTH, config::Argument};
use crate::model::Shapes;
use anyhow::Context as _;
use askama::Template;

/// `agent.py`.
#[derive(Template)]
#[template(path = "agent.py", escape = "none")]
pub(super) struct File<'s> {
    /// The options that are fields of the configuration.
    config: Vec<Argument<'s>>,
    /// The others.
    setup: Vec<Argument<'s>>,
}

impl<'s> File<'s> {
    pub(super) fn new(shapes: &'s Shapes) -> anyhow::Result<Self> {
        let options = shapes.options()?.into_iter();
        let config = options.map(|field| Argument::new(shapes, "RunConfig", field));
        let mut setup = Vec::new();
        for field in shapes.get("AgentSetup")?.fields() {
            let own = FORMS
                .setup
                .get(&field.name)
                .with_context(|| format!("forms/python.toml lacks `AgentSetup.{}`", field.name))?;
            setup.extend(own.iter().map(|own| Argument {
                name: &own.name,
                declared: own.declared.clone(),
                value: own.name.clone(),
                doc: own.doc.as_ref().unwrap_or(&field.doc),
            }));
        }
        Ok(Self {
            config: config.collect::<anyhow::Result<_>>()?,
            setup,
        })
    }

    fn all(&self) -> impl Iterator<Item = &Argument<'s>> {
        self.config.iter().chain(&self.setup)
    }

    /// The arguments that are passed on.
    fn passed(&self) -> impl Iterator<Item = &Argument<'s>> {
        self.setup
            .iter()
            .filter(|argument| argument.name != "tools")
    }
}

impl Argument<'_> {
    fn ty(&self) -> &str {
        self.declared.split(" = ").next().unwrap_or_default()
    }

    /// Formats the argument's documentation for a docstring's list of arguments.
    fn entry(&self) -> String {
        let doc = self.doc.replace("\n\n", " ");
        let lines = STYLE.lines(&format!("{}: {doc}", self.name), None, WIDTH - 16);
        lines.join(&format!("\n{:16}", ""))
    }
}
