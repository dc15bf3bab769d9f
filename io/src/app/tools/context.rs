//! What a tool's code is given: the call, and who calls.

use crate::app::tools::fault::Fault;
use crate::app::tools::notes::Notes;
use std::any::{Any, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use stepwell_core::run::{EffectId, Input, Question, QuestionError, ToolInvocation, UserAnswer};
use stepwell_core::tool::ToolOutput;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// A tool call as its code is given it: the [`ToolInvocation`], to which it dereferences, and what the code may ask and
/// tell while it runs. Clones are of the same call.
///
/// ```
/// # use stepwell_io::{Agent, provider};
/// use stepwell_io::{Question, Tool, ToolContext, UserAnswer};
///
/// struct Depot { city: String }
///
/// async fn ship(call: ToolContext) -> Result<String, Box<dyn std::error::Error>> {
///     let depot: &Depot = call.deps()?;
///     call.report(0.5, "the parcel is packed");
///     match call.ask(Question::choice("How fast?", ["today", "this week"])).await? {
///         UserAnswer::Given { value } => Ok(format!("on its way from {}: {value}", depot.city)),
///         UserAnswer::Declined { .. } => Ok("it waits".to_owned()),
///     }
/// }
///
/// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
/// let agent = Agent::builder(endpoint)
///     .deps(Depot { city: "Bergen".to_owned() })
///     .tool(Tool::new("ship", "Sends the parcel."), ship)
///     .build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ToolContext(Arc<Inner>);

struct Inner {
    invocation: ToolInvocation,
    deps: Option<Deps>,
    cancel: CancellationToken,
    /// None outside of a turn.
    link: Option<Link>,
    asked: AtomicU32,
}

/// Where what a tool says goes.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) notes: Notes,
    pub(crate) fault: Fault,
    pub(crate) inputs: mpsc::Sender<Input<'static>>,
    pub(crate) answers: Answers,
    /// For code on a thread of its own.
    pub(crate) runtime: Handle,
}

/// The tools that wait for the user, by their questions.
pub(crate) type Answers = Arc<Mutex<HashMap<EffectId, oneshot::Sender<UserAnswer>>>>;

/// A value of the app's own, for its tools.
#[derive(Clone)]
pub(crate) struct Deps {
    value: Arc<dyn Any + Send + Sync>,
    name: &'static str,
}

impl Deps {
    pub(crate) fn new<T: Send + Sync + 'static>(value: T) -> Self {
        Self {
            value: Arc::new(value),
            name: type_name::<T>(),
        }
    }
}

/// The app's value is not there, or of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DepsError {
    /// The agent has none.
    #[error(
        "it wants a `{wanted}`, and the agent has no value for its tools: set it with `AgentBuilder::deps`"
    )]
    None {
        /// The type that the tool wants.
        wanted: &'static str,
    },
    /// The agent's is of another type.
    #[error(
        "it wants a `{wanted}`, and the agent's value for its tools is a `{found}`: give `AgentBuilder::deps` the former"
    )]
    OtherType {
        /// The type that the tool wants.
        wanted: &'static str,
        /// The type of the agent's value.
        found: &'static str,
    },
}

impl ToolContext {
    pub(crate) fn new(
        invocation: ToolInvocation,
        deps: Option<Deps>,
        cancel: CancellationToken,
        link: Option<Link>,
    ) -> Self {
        Self(Arc::new(Inner {
            invocation,
            deps,
            cancel,
            link,
            asked: AtomicU32::new(0),
        }))
    }

    /// The call: its arguments, its id, the thread, the turn, the run and the attempt.
    #[must_use]
    pub fn invocation(&self) -> &ToolInvocation {
        &self.0.invocation
    }

    /// The app's own value, which was set with [`AgentBuilder::deps`](crate::AgentBuilder::deps) or
    /// [`Agent::with_deps`](crate::Agent::with_deps).
    ///
    /// # Errors
    /// There is none, or it is of another type: a mistake of the program's. The turn fails with
    /// [`Failure::ToolNotSetUp`](crate::Failure::ToolNotSetUp), whatever the tool makes of the error, and the model is not
    /// told. A tool that can do without asks [`find_deps`](Self::find_deps).
    pub fn deps<T: Send + Sync + 'static>(&self) -> Result<&T, DepsError> {
        let found = self.find_deps();
        found.ok_or_else(|| {
            let wanted = type_name::<T>();
            let error = match &self.0.deps {
                Some(deps) => DepsError::OtherType {
                    wanted,
                    found: deps.name,
                },
                None => DepsError::None { wanted },
            };
            if let Some(link) = self.link() {
                link.fault.tool(&self.name, &error);
            }
            error
        })
    }

    /// The app's own value, as [`deps`](Self::deps) gives it, if there is one and it is of this type.
    #[must_use]
    pub fn find_deps<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.deps.as_ref()?.value.downcast_ref()
    }

    /// Says how far the call has come: from 0 to 1, if that is known, and what it does now.
    /// [`RunEvent::ToolProgress`](crate::RunEvent::ToolProgress) shows it. Of what an app is too slow to show, the last
    /// is shown.
    pub fn report(&self, fraction: impl Into<Option<f64>>, message: impl Into<String>) {
        if let Some(link) = self.link() {
            let message = Some(message.into()).filter(|message| !message.is_empty());
            link.notes.progress(self.effect(), fraction.into(), message);
        }
    }

    /// Shows what there is of the result so far, in the place of what was shown before:
    /// [`RunEvent::ToolPartialResult`](crate::RunEvent::ToolPartialResult). The model is told the result alone. One of
    /// more than 256 KiB is not shown.
    pub fn partial(&self, output: impl Into<ToolOutput>) {
        if let Some(link) = self.link() {
            link.notes.partial(self.effect(), output.into());
        }
    }

    /// Asks the user, by [`Approver::ask`](crate::Approver::ask), and waits for the answer. It fits the question's schema.
    /// Without a way to ask, and when [`Timeouts::approval`](crate::Timeouts::approval) is over, the question is declined.
    /// The tool's own time stands still meanwhile.
    ///
    /// An idempotent tool that is run again after a crash and asks the same is given the answer of before.
    ///
    /// # Errors
    /// The schema is none, or the call asks too much.
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
        crate::base::lock(&link.answers).insert(asking, sender);
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

    /// As [`ask`](Self::ask), for [code that blocks](crate::AgentBuilder::blocking_tool).
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    ///
    /// # Panics
    /// In async code.
    pub fn ask_blocking(&self, question: impl Into<Question>) -> Result<UserAnswer, QuestionError> {
        match &self.0.link {
            Some(link) => link.runtime.block_on(self.ask(question)),
            None => {
                question.into().may_be_asked(0)?;
                Ok(UserAnswer::declined("nobody waits for the call any more"))
            }
        }
    }

    /// Whether nobody waits for the call any more: it was cancelled, ran out of time, or is over. To be asked now and
    /// then by code that blocks; an async tool is dropped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Waits until nobody waits for the call any more.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }

    fn effect(&self) -> EffectId {
        EffectId::Tool(self.call)
    }

    /// Where what the tool says goes, as long as anybody waits for it.
    fn link(&self) -> Option<&Link> {
        self.0.link.as_ref().filter(|_| !self.is_cancelled())
    }
}

impl Deref for ToolContext {
    type Target = ToolInvocation;

    fn deref(&self) -> &ToolInvocation {
        self.invocation()
    }
}

/// A call outside of a turn, for the tests of a tool: what it reports is shown to nobody, and what it asks is declined.
impl From<ToolInvocation> for ToolContext {
    fn from(invocation: ToolInvocation) -> Self {
        Self::new(invocation, None, CancellationToken::new(), None)
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("invocation", &self.0.invocation)
            .finish_non_exhaustive()
    }
}
