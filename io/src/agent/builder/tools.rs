//! The tools of an agent: their code, the code that asks the user about them, and the app's value that they are given.

use super::AgentBuilder;
use crate::app::answerer::Answerer;
use crate::app::approver::Approver;
use crate::app::tools::context::{Deps, ToolContext};
use crate::app::tools::fault::OnToolError;
use crate::app::tools::handler::{Blocking, IntoToolAnswer, ToolHandler, WithDeps};
use crate::app::tools::source::ToolSource;
use std::sync::Arc;
use stepwell_core::tool::{Tool, ToolError};

impl<D: Send + Sync + 'static, T> AgentBuilder<D, T> {
    /// Adds a tool and its code: an async closure from a [`ToolContext`], which holds the call, to an
    /// [answer](IntoToolAnswer), or to [`ToolAnswer::Deferred`](crate::tool::ToolAnswer::Deferred) if the result comes later.
    #[must_use]
    pub fn tool<F, Fut>(self, tool: Tool, handler: F) -> Self
    where
        F: Fn(ToolContext<D>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolAnswer> + Send + 'static,
    {
        self.tool_handler(tool, handler)
    }

    /// Adds a tool whose code blocks: each call has its own thread. A thread cannot be stopped from outside, so long
    /// work should check [`ToolContext::is_cancelled`] now and then; a cancelled call does not hold up the turn.
    #[must_use]
    pub fn blocking_tool<F, R>(self, tool: Tool, code: F) -> Self
    where
        F: Fn(ToolContext<D>) -> R + Send + Sync + 'static,
        R: IntoToolAnswer,
    {
        self.tool_handler(tool, Blocking(Arc::new(code)))
    }

    /// Adds a tool whose code is a type of the app's.
    #[must_use]
    pub fn tool_handler(self, tool: Tool, handler: impl ToolHandler<D>) -> Self {
        self.shared_handler(tool, Arc::new(WithDeps::new(handler)))
    }

    pub(crate) fn shared_handler(mut self, tool: Tool, handler: Arc<dyn ToolHandler>) -> Self {
        // The agent cannot be built any more: no schema is compiled for it.
        if self.parts.tool_error.is_some() {
            return self;
        }
        let name = tool.name().to_owned();
        match self.parts.config.tools.add(tool) {
            Ok(()) => {
                self.parts.handlers.insert(name, handler);
            }
            Err(error) => self.parts.tool_error = Some(error),
        }
        self
    }

    /// Replaces the code of a tool that was added before: for clones of one builder, which share the tool's compiled
    /// schema and have code of their own.
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use std::convert::Infallible;
    /// use stepwell_io::tool::{Tool, ToolContext};
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let of_nobody = |_: ToolContext| async { Err::<String, _>("nobody has signed in") };
    /// let base = Agent::builder(endpoint).tool(Tool::new("who_am_i", "The user's name."), of_nobody);
    /// let ada = base.clone().handler("who_am_i", |_: ToolContext| async { Ok::<_, Infallible>("Ada") }).build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn handler(mut self, name: &str, handler: impl ToolHandler<D>) -> Self {
        match self.parts.handlers.get_mut(name) {
            Some(own) => *own = Arc::new(WithDeps::new(handler)),
            None => {
                let name = name.to_owned();
                self.parts
                    .tool_error
                    .get_or_insert(ToolError::Unknown { name });
            }
        }
        self
    }

    /// Adds tools that may change from turn to turn, such as those of Model Context Protocol servers (feature `mcp`). A
    /// tool whose name is taken, or that no provider would accept, is left out with a warning in the trace.
    #[must_use]
    pub fn tool_source(mut self, source: impl ToolSource) -> Self {
        self.parts.sources.push(Arc::new(source));
        self
    }

    /// Sets the code that asks the user about tools that need an approval: an async closure from a call to a decision,
    /// or a type of the app's. Without it such a call waits: [`Turn::pending`](crate::Turn::pending) and
    /// [`Conversation::pending`](crate::Conversation::pending) list it, and their `approve` and `deny` take the decision.
    /// Only a call of [`Agent::run`](crate::Agent::run), of which the app has no turn, is denied then.
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use stepwell_io::tool::{Decision, Tool, ToolContext, ToolInvocation};
    /// # async fn confirm(_: String) -> bool { true }
    /// # async fn send_mail(_: ToolContext) -> Result<&'static str, String> { Ok("sent") }
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let agent = Agent::builder(endpoint)
    ///     .tool(Tool::new("send_mail", "Sends a mail.").requires_approval(), send_mail)
    ///     .approver(|call: ToolInvocation| async move {
    ///         match confirm(format!("Run {}?", call.name)).await {
    ///             true => Decision::Granted,
    ///             false => Decision::Denied { reason: Some("not now".to_owned()) },
    ///         }
    ///     })
    ///     .build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.parts.asking.approver = Some(Arc::new(approver));
        self
    }

    /// Sets the code that asks the user a running tool's questions ([`ToolContext::ask`]): an async closure from the
    /// call and the question to the answer, or a type of the app's. Without it a question waits, as an approval does; in
    /// a call of [`Agent::run`](crate::Agent::run) it is declined.
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use stepwell_io::tool::{Question, ToolInvocation, UserAnswer};
    /// # async fn input(_: String) -> Option<String> { None }
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let agent = Agent::builder(endpoint)
    ///     .answerer(|_: ToolInvocation, question: Question| async move {
    ///         match input(question.message).await {
    ///             Some(text) => UserAnswer::given(text),
    ///             None => UserAnswer::declined("not now"),
    ///         }
    ///     })
    ///     .build()?;
    /// # let _: Agent = agent;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn answerer(mut self, answerer: impl Answerer) -> Self {
        self.parts.asking.answerer = Some(Arc::new(answerer));
        self
    }

    /// Sets what happens if a tool fails or panics: [`OnToolError::TellModel`] if not set.
    #[must_use]
    pub fn on_tool_error(mut self, policy: OnToolError) -> Self {
        self.parts.on_tool_error = policy;
        self
    }

    /// Sets the value that the agent's tools need, by [`ToolContext::deps`]: a database, say, or a client. It comes
    /// after the tools. [`Agent::with_deps`](crate::Agent::with_deps) sets a value of one request. A value of another
    /// type than the tools need does not compile:
    ///
    /// ```compile_fail,E0308
    /// # use stepwell_io::tool::{Tool, ToolContext};
    /// # use stepwell_io::{Agent, Model};
    /// let greet = |call: ToolContext<String>| async move { format!("Hello, {}", call.deps()) };
    /// let agent = Agent::builder(Model::openai("gpt-5-mini")).tool(Tool::new("greet", "Greets."), greet).deps(42);
    /// ```
    #[must_use]
    pub fn deps(mut self, deps: D) -> AgentBuilder<(), T> {
        self.parts.deps = Some(Deps::new(deps));
        AgentBuilder::from_parts(self.parts)
    }
}
