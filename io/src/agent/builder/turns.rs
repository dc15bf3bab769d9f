//! The app's code that turns call: for keys, runs and instructions, for hooks, to shorten, to decode and to record.

use super::AgentBuilder;
#[cfg(feature = "aws")]
use crate::app::aws::AwsCredentialSource;
use crate::app::credentials::CredentialSource;
use crate::app::hooks::Hook;
use crate::app::instructions::InstructionsSource;
use crate::app::journal::JournalSink;
use crate::app::observer::TurnObserver;
use crate::app::output::OutputDecoder;
use crate::app::run_source::RunSource;
use crate::app::trim::Trimmer;
use std::sync::Arc;
use stepwell_core::RunId;
use stepwell_core::run::{ContextPolicy, Credentials, RunIds};

impl<D, T> AgentBuilder<D, T> {
    /// Sets the code that shortens a conversation which does not fit the model's context any more: an async closure
    /// from the overflow, and its messages, to the messages that are kept, or to `None` if it cannot shorten them. What it
    /// leaves out stays out in the turns that follow. To be asked before the context is full, add
    /// [`CompactionWay::Host`](stepwell_core::run::CompactionWay::Host) to the ways of [`compaction`](Self::compaction).
    /// Without it such a turn ends with [`Failure::ContextTooLong`](stepwell_core::run::Failure::ContextTooLong).
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use stepwell_io::config::ContextOverflow;
    /// use stepwell_io::message::Message;
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let agent = Agent::builder(endpoint)
    ///     .configure(|config| config.context_guard.window = Some(32_000))
    ///     .trim_context(|overflow: ContextOverflow, _: Vec<Message>| async move { Some(overflow.newest(0.5)) });
    /// # let _: stepwell_io::AgentBuilder = agent;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn trim_context(mut self, trimmer: impl Trimmer) -> Self {
        self.parts.config.context_guard.at_limit = ContextPolicy::Trim;
        self.parts.trimmer = Some(Arc::new(trimmer));
        self
    }

    /// Sets the code that decodes the typed answer into a type of the app's. An answer that it refuses goes back to the
    /// model. It is called only where [`OutputType::decoded_by_host`](stepwell_core::tool::OutputType::decoded_by_host)
    /// says so.
    #[must_use]
    pub fn output_decoder(mut self, decoder: impl OutputDecoder) -> Self {
        self.parts.decoder = Some(Arc::new(decoder));
        self
    }

    /// Sets the source of the hops' runs, for a backend that creates each run before its stream is opened: an async
    /// closure from a [`NewRun`](crate::host::NewRun) to the run's id, or a [`RestRunSource`](crate::host::RestRunSource). Without
    /// a source the agent makes the ids itself, as a plain AG-UI agent expects.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use stepwell_core::run_source::Soliplex;
    /// use stepwell_io::host::RestRunSource;
    /// use stepwell_io::{Agent, HttpClient};
    ///
    /// let room = Soliplex::new("https://chat.example.org", "support").key("token");
    /// let (endpoint, source) = (room.endpoint(), RestRunSource::new(room));
    /// let client = HttpClient::new()?;
    /// let thread = source.create_thread(&client).await?;
    /// let agent = Agent::builder(endpoint)
    ///     .client(client)
    ///     .run_source(source)
    ///     .build()?;
    /// let conversation = agent.conversation(thread.thread_id);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn run_source(mut self, source: impl RunSource) -> Self {
        self.parts.config.run_ids = RunIds::Host;
        self.parts.run_source = Some(Arc::new(source));
        self
    }

    /// Writes a [journal](stepwell_core::journal) of each turn, from which the turn can be replayed, to a closure that
    /// takes the turn's run id and complete lines, or to a type of the app's. A journal holds the conversation, but no
    /// key. A revived turn has a journal of its own, under the run id of the hop at which it continues.
    #[must_use]
    pub fn journal(mut self, sink: impl JournalSink) -> Self {
        self.parts.journal = Some(Arc::new(sink));
        self
    }

    /// Watches the turns, each with its own observer, which `make` makes from the turn's run id.
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use stepwell_io::turn::RunEvent;
    /// use stepwell_io::RunId;
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let agent = Agent::builder(endpoint).observer(|_: &RunId| {
    ///     let mut hops = 1;
    ///     move |event: &RunEvent| match event {
    ///         RunEvent::HopStarted { .. } => hops += 1,
    ///         RunEvent::Completed(outcome) => println!("{hops} hops: {outcome:?}"),
    ///         _ => {}
    ///     }
    /// });
    /// # let _: stepwell_io::AgentBuilder = agent;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn observer<O: TurnObserver>(
        mut self,
        make: impl Fn(&RunId) -> O + Send + Sync + 'static,
    ) -> Self {
        self.parts.observer = Some(Arc::new(move |turn| Box::new(make(turn))));
        self
    }

    /// Sets the code that makes the instructions of each turn: an async closure from the thread, the turn and the
    /// history to a text. It is called before the turn's first request, and its text is stored with the turn. A turn
    /// with [instructions of its own](crate::Run::instructions) does not call it. It may take as long as a tool
    /// ([`Timeouts::tool`](stepwell_core::run::Timeouts::tool)).
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use std::convert::Infallible;
    /// use stepwell_io::config::InstructionsRequest;
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let agent = Agent::builder(endpoint).instructions_from(|turn: InstructionsRequest| async move {
    ///     let said = turn.history.messages().len();
    ///     Ok::<_, Infallible>(format!("Be brief. {said} messages were said in {}.", turn.thread.thread))
    /// });
    /// # let _: stepwell_io::AgentBuilder = agent;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn instructions_from(mut self, source: impl InstructionsSource) -> Self {
        self.parts.instructions = Some(Arc::new(source));
        self
    }

    /// Sets the code that gives the key of each request: an async closure that is called before each request, and once
    /// more when the provider refuses the key with a 401. It is for tokens that expire; take the endpoint
    /// [without a key](stepwell_core::provider::Provider::endpoint_for_host) then. The key is in no snapshot, journal
    /// or log. If the closure fails, so does the turn, with [`Failure::NotAuthorized`](crate::turn::Failure::NotAuthorized).
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use stepwell_io::credentials::CredentialRequest;
    /// # async fn token(anew: bool) -> Result<String, std::io::Error> { Ok(String::new()) }
    /// let endpoint = provider::find("openai")?.endpoint_for_host(None, "gpt-4o-mini", None, None)?;
    /// let agent = Agent::builder(endpoint)
    ///     .credentials(|request: CredentialRequest| async move { token(request.rejected).await })
    ///     .build()?;
    /// # let _: Agent = agent;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn credentials(mut self, source: impl CredentialSource) -> Self {
        self.parts.config.credentials = Credentials::Host;
        self.parts.credentials = Some(Arc::new(source));
        self
    }

    /// Sets the credentials of AWS, with which requests to Amazon Bedrock are signed that have no API key (feature
    /// `aws`). They are [`AwsCredentials`](crate::credentials::AwsCredentials), or an async closure to them. Each request
    /// is signed right before it is sent, and so is each retry. Without this, the credentials are those of `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
    ///
    /// ```
    /// use stepwell_io::credentials::AwsCredentials;
    /// use stepwell_io::{Agent, Model};
    ///
    /// let model = Model::bedrock("amazon.nova-lite-v1:0").base_url("eu-central-1");
    /// let agent = Agent::builder(model)
    ///     .aws_credentials(AwsCredentials::new("the id", "the secret"))
    ///     .build()?;
    /// # let _: Agent = agent;
    /// # Ok::<(), stepwell_io::Error>(())
    /// ```
    #[cfg(feature = "aws")]
    #[must_use]
    pub fn aws_credentials(mut self, source: impl AwsCredentialSource) -> Self {
        self.parts.aws = Some(Arc::new(source));
        self
    }

    /// Adds a hook, after those that were added before. Two hooks with one name are an error.
    #[must_use]
    pub fn hook(mut self, hook: Hook) -> Self {
        let name = hook.name().to_owned();
        self.parts.config.hooks.push(hook.spec());
        self.parts.hooks.insert(name, Arc::new(hook));
        self
    }
}
