//! The app's hooks: code that inspects requests, answers and tools, changes them, or refuses them with a reason.

use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use stepwell_core::run::{
    EffectId, HookAnswer, HookMoment, HookSpec, HookSubject, HookedAnswer, HookedRequest,
    HookedResult, Input, ToolInvocation,
};

/// The code of a hook, as a type of the app's. Closures suffice for most hooks: [`Hook::new`].
pub trait HookHandler: Send + Sync + 'static {
    /// Inspects the subject, as the hook of this name. Dropping the future cancels the work.
    fn look(&self, hook: &str, subject: HookSubject) -> BoxFuture<'static, HookAnswer>;
}

type HookClosure<T> = Arc<dyn Fn(T) -> BoxFuture<'static, HookAnswer> + Send + Sync>;

/// A hook of an agent: it inspects what the agent's turns are about to do, changes it, or refuses it with a reason. A
/// hook is called only at the moments for which it has code.
///
/// Each code is an async closure to `()`, which changes nothing; to a [`HookAnswer`]; or to a `Result` of either. The
/// turn fails with the hook's name if the closure returns an error, panics, or takes longer than
/// [`Timeouts::tool`](stepwell_core::run::Timeouts::tool).
///
/// ```
/// # use stepwell_io::{Agent, provider};
/// use stepwell_io::hook::{Hook, HookAnswer, HookedAnswer};
/// use stepwell_io::tool::ToolInvocation;
/// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
/// let guard = Hook::new("guard")
///     .before_tool(|call: ToolInvocation| async move {
///         match call.name.as_str() {
///             "delete_everything" => HookAnswer::refuse("not from here"),
///             _ => HookAnswer::GoOn,
///         }
///     })
///     .after_answer(|answer: HookedAnswer| async move { println!("{}", answer.text) });
/// let agent = Agent::builder(endpoint).hook(guard).build()?;
/// # let _: Agent = agent;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Hook {
    name: String,
    moments: Vec<HookMoment>,
    code: HookCode,
}

#[derive(Clone)]
enum HookCode {
    Closures(HookClosures),
    Handler(Arc<dyn HookHandler>),
}

#[derive(Clone, Default)]
struct HookClosures {
    before_request: Option<HookClosure<HookedRequest>>,
    after_answer: Option<HookClosure<HookedAnswer>>,
    before_tool: Option<HookClosure<ToolInvocation>>,
    after_tool: Option<HookClosure<HookedResult>>,
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("name", &self.name)
            .field("moments", &self.moments)
            .finish_non_exhaustive()
    }
}

fn look<T, F, Fut>(code: F) -> Option<HookClosure<T>>
where
    F: Fn(T) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: Into<HookAnswer>,
{
    Some(Arc::new(move |subject| {
        let looking = code(subject);
        async move { looking.await.into() }.boxed()
    }))
}

impl Hook {
    /// Returns a hook without code. Refusals and failures name the hook.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            moments: Vec::new(),
            code: HookCode::Closures(HookClosures::default()),
        }
    }

    /// Returns a hook whose code is a type of the app's, which is called at these moments.
    pub fn with_handler(
        name: impl Into<String>,
        moments: impl IntoIterator<Item = HookMoment>,
        handler: impl HookHandler,
    ) -> Self {
        Self {
            name: name.into(),
            moments: moments.into_iter().collect(),
            code: HookCode::Handler(Arc::new(handler)),
        }
    }

    /// Sets the code for a request to the model: it is called once for each request, not for each attempt.
    #[must_use]
    pub fn before_request<F, Fut>(self, code: F) -> Self
    where
        F: Fn(HookedRequest) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Into<HookAnswer>,
    {
        self.with(HookMoment::BeforeRequest, |own| {
            own.before_request = look(code);
        })
    }

    /// Sets the code for the model's answer, before anything follows from it. The user may have read it by then.
    #[must_use]
    pub fn after_answer<F, Fut>(self, code: F) -> Self
    where
        F: Fn(HookedAnswer) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Into<HookAnswer>,
    {
        self.with(HookMoment::AfterAnswer, |own| own.after_answer = look(code))
    }

    /// Sets the code for a tool call, before the user is asked for approval.
    #[must_use]
    pub fn before_tool<F, Fut>(self, code: F) -> Self
    where
        F: Fn(ToolInvocation) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Into<HookAnswer>,
    {
        self.with(HookMoment::BeforeTool, |own| own.before_tool = look(code))
    }

    /// Sets the code for the result of a tool call, before the model receives it.
    #[must_use]
    pub fn after_tool<F, Fut>(self, code: F) -> Self
    where
        F: Fn(HookedResult) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Into<HookAnswer>,
    {
        self.with(HookMoment::AfterTool, |own| own.after_tool = look(code))
    }

    fn with(mut self, moment: HookMoment, put: impl FnOnce(&mut HookClosures)) -> Self {
        let mut closures = match self.code {
            HookCode::Closures(closures) => closures,
            HookCode::Handler(_) => HookClosures::default(),
        };
        put(&mut closures);
        self.code = HookCode::Closures(closures);
        if !self.moments.contains(&moment) {
            self.moments.push(moment);
        }
        self
    }

    pub(crate) fn spec(&self) -> HookSpec {
        HookSpec::new(self.name.clone(), self.moments.clone())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl HookHandler for Hook {
    fn look(&self, hook: &str, subject: HookSubject) -> BoxFuture<'static, HookAnswer> {
        fn asked<T>(code: &Option<HookClosure<T>>, subject: T) -> BoxFuture<'static, HookAnswer> {
            match code {
                Some(code) => code(subject),
                None => std::future::ready(HookAnswer::GoOn).boxed(),
            }
        }
        match (&self.code, subject) {
            (HookCode::Handler(handler), subject) => handler.look(hook, subject),
            (HookCode::Closures(own), HookSubject::Request(request)) => {
                asked(&own.before_request, request)
            }
            (HookCode::Closures(own), HookSubject::Answer(answer)) => {
                asked(&own.after_answer, answer)
            }
            (HookCode::Closures(own), HookSubject::Call(call)) => asked(&own.before_tool, call),
            (HookCode::Closures(own), HookSubject::Result(result)) => {
                asked(&own.after_tool, result)
            }
            // No closure is for a later moment of the core's.
            #[allow(
                unreachable_patterns,
                reason = "the core's feature `exhaustive` may be on"
            )]
            (HookCode::Closures(_), _) => std::future::ready(HookAnswer::GoOn).boxed(),
        }
    }
}

/// Calls the hook, and returns the machine's input.
pub(crate) async fn ask(
    handler: Option<Arc<dyn HookHandler>>,
    effect: EffectId,
    hook: String,
    subject: HookSubject,
) -> Input<'static> {
    let failed = |message: String| HookAnswer::Failed { message };
    let answer = match handler {
        None => failed("this app has no code of it".to_owned()),
        Some(handler) => {
            let looked = catch_panic(async move { handler.look(&hook, subject).await }).await;
            looked.unwrap_or_else(|panic| failed(format!("it broke off: {panic}")))
        }
    };
    let answer = match effect {
        EffectId::Hook { place, .. } if !answer.fits(place) => failed(format!(
            "it changes something else than it was asked about ({})",
            place.moment()
        )),
        _ => answer,
    };
    Input::HookAnswered { effect, answer }
}
