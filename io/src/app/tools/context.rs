//! The context of a tool's code: the call, and what the code may do while it runs.

use crate::app::tools::notes::ToolNotes;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use stepwell_core::run::{EffectId, Input, Question, QuestionError, ToolInvocation, UserAnswer};
use stepwell_core::tool::ToolOutput;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// The context of a tool call: the [`ToolInvocation`], to which it dereferences, the app's value, and what the code may
/// ask and report while it runs. Clones belong to the same call.
///
/// `D` is the type of the app's value, which [`AgentBuilder::deps`](crate::AgentBuilder::deps) or
/// [`Agent::with_deps`](crate::Agent::with_deps) sets.
///
/// ```
/// use stepwell_io::tool::{Question, Tool, ToolContext, UserAnswer};
/// use stepwell_io::{Agent, Model};
///
/// struct Depot { city: String }
///
/// async fn ship(call: ToolContext<Depot>) -> Result<String, Box<dyn std::error::Error>> {
///     call.report(0.5, "the parcel is packed");
///     match call.ask(Question::choice("How fast?", ["today", "this week"])).await? {
///         UserAnswer::Given { value } => Ok(format!("on its way from {}: {value}", call.deps().city)),
///         UserAnswer::Declined { .. } => Ok("it waits".to_owned()),
///     }
/// }
///
/// # fn main() -> Result<(), stepwell_io::Error> {
/// let agent = Agent::builder(Model::openai("gpt-5-mini").api_key("the key"))
///     .tool(Tool::new("ship", "Sends the parcel."), ship)
///     .deps(Depot { city: "Bergen".to_owned() })
///     .build()?;
/// # Ok(())
/// # }
/// ```
pub struct ToolContext<D = ()>(Arc<Inner>, PhantomData<fn() -> D>);

impl<D> Clone for ToolContext<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), PhantomData)
    }
}

struct Inner {
    invocation: ToolInvocation,
    deps: Option<Deps>,
    cancel: CancellationToken,
    /// `None` outside of a turn.
    link: Option<TurnLink>,
    asked: AtomicU32,
}

/// A running tool's connection with its turn.
#[derive(Clone)]
pub(crate) struct TurnLink {
    pub(crate) notes: ToolNotes,
    pub(crate) inputs: mpsc::Sender<Input<'static>>,
    pub(crate) questions: PendingQuestions,
    /// The runtime, for code on its own thread.
    pub(crate) runtime: Handle,
}

/// The tools that wait for an answer of the user, by their questions.
pub(crate) type PendingQuestions = Arc<Mutex<HashMap<EffectId, oneshot::Sender<UserAnswer>>>>;

/// A value of the app's, for its tools.
#[derive(Clone)]
pub(crate) struct Deps(Arc<dyn Any + Send + Sync>);

impl Deps {
    pub(crate) fn new<T: Send + Sync + 'static>(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl fmt::Debug for Deps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deps")
    }
}

impl ToolContext {
    pub(crate) fn new(
        invocation: ToolInvocation,
        deps: Option<Deps>,
        cancel: CancellationToken,
        link: Option<TurnLink>,
    ) -> Self {
        let inner = Inner {
            invocation,
            deps,
            cancel,
            link,
            asked: AtomicU32::new(0),
        };
        Self(Arc::new(inner), PhantomData)
    }

    /// Returns the context of a tool whose code needs a value.
    pub(crate) fn with_type<D>(self) -> ToolContext<D> {
        ToolContext(self.0, PhantomData)
    }
}

impl<D: Send + Sync + 'static> ToolContext<D> {
    /// Returns a call outside of a turn, for the tests of a tool: its reports are not shown, and its questions are
    /// declined.
    #[must_use]
    pub fn for_test(invocation: ToolInvocation, deps: D) -> Self {
        let deps = Some(Deps::new(deps));
        ToolContext::new(invocation, deps, CancellationToken::new(), None).with_type()
    }

    /// Returns the app's value.
    ///
    /// # Panics
    /// Never: an agent whose tools need a value of this type runs only once it has one.
    #[must_use]
    pub fn deps(&self) -> &D {
        let own = self.0.deps.as_ref();
        let own = own.and_then(|deps| deps.0.downcast_ref());
        // An agent without a value has `()`.
        let own = own.or_else(|| (&() as &dyn Any).downcast_ref());
        own.expect("an agent runs only with the value that its tools need")
    }
}

impl<D> ToolContext<D> {
    /// Returns the context of a tool that needs no value.
    #[doc(hidden)]
    #[must_use]
    pub fn without_type(self) -> ToolContext {
        ToolContext(self.0, PhantomData)
    }

    /// Returns the call: its arguments, its id, the thread, the turn, the run and the attempt.
    #[must_use]
    pub fn invocation(&self) -> &ToolInvocation {
        &self.0.invocation
    }

    /// Reports the progress of the call, from 0 to 1 if it is known, and what the tool is doing.
    /// [`RunEvent::ToolProgress`](crate::turn::RunEvent::ToolProgress) shows it. An app that is slow to take events is shown
    /// the last report.
    pub fn report(&self, fraction: impl Into<Option<f64>>, message: impl Into<String>) {
        if let Some(link) = self.link() {
            let message = Some(message.into()).filter(|message| !message.is_empty());
            link.notes.progress(self.effect(), fraction.into(), message);
        }
    }

    /// Shows the result so far, which replaces what was shown before:
    /// [`RunEvent::ToolPartialResult`](crate::turn::RunEvent::ToolPartialResult). The model gets only the final result. A
    /// partial result of more than 256 KiB is not shown.
    pub fn partial(&self, output: impl Into<ToolOutput>) {
        if let Some(link) = self.link() {
            link.notes.partial(self.effect(), output.into());
        }
    }

    /// Asks the user, by the agent's [`Answerer`](crate::tool::Answerer), and waits for the answer, which fits the question's
    /// schema. Without a way to ask, or after [`Timeouts::approval`](crate::config::Timeouts::approval), the question is
    /// declined. The tool's timeout is paused meanwhile.
    ///
    /// An idempotent tool that is run again after a crash, and asks the same, gets the earlier answer.
    ///
    /// # Errors
    /// The schema is invalid, or the call asks too many questions.
    pub async fn ask(&self, question: impl Into<Question>) -> Result<UserAnswer, QuestionError> {
        let question = question.into();
        let number = self.0.asked.fetch_add(1, Ordering::Relaxed);
        question.may_be_asked(number)?;
        let Some(link) = self.link() else {
            return Ok(UserAnswer::declined("nobody waits for the call any more"));
        };
        let (sender, answer) = oneshot::channel();
        let asking = EffectId::Ask {
            call: self.call,
            number,
        };
        crate::base::lock(&link.questions).insert(asking, sender);
        let input = Input::ToolAsks {
            effect: self.effect(),
            number,
            question,
        };
        let answered = async {
            link.inputs.send(input).await.ok()?;
            answer.await.ok()
        };
        let answer = tokio::select! {
            biased;
            answer = answered => answer,
            () = self.cancelled() => None,
        };
        Ok(answer.unwrap_or_else(|| UserAnswer::declined("nobody waits for the call any more")))
    }

    /// Asks the user, as [`ask`](Self::ask) does, in [code that blocks](crate::AgentBuilder::blocking_tool).
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    ///
    /// # Panics
    /// If it is called in async code.
    pub fn ask_blocking(&self, question: impl Into<Question>) -> Result<UserAnswer, QuestionError> {
        match &self.0.link {
            Some(link) => link.runtime.block_on(self.ask(question)),
            None => {
                question.into().may_be_asked(0)?;
                Ok(UserAnswer::declined("nobody waits for the call any more"))
            }
        }
    }

    /// Returns whether the call's result is not awaited any more: the call was cancelled, has timed out, or is over.
    /// Code that blocks should check it now and then; the future of an async tool is dropped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Waits until the call's result is not awaited any more.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }

    fn effect(&self) -> EffectId {
        EffectId::Tool(self.call)
    }

    /// Returns the connection with the turn, while the call's result is awaited.
    fn link(&self) -> Option<&TurnLink> {
        self.0.link.as_ref().filter(|_| !self.is_cancelled())
    }
}

impl<D> Deref for ToolContext<D> {
    type Target = ToolInvocation;

    fn deref(&self) -> &ToolInvocation {
        self.invocation()
    }
}

/// A call outside of a turn, for the tests of a tool: its reports are not shown, and its questions are declined.
impl From<ToolInvocation> for ToolContext {
    fn from(invocation: ToolInvocation) -> Self {
        Self::new(invocation, None, CancellationToken::new(), None)
    }
}

impl<D> fmt::Debug for ToolContext<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("invocation", &self.0.invocation)
            .finish_non_exhaustive()
    }
}
