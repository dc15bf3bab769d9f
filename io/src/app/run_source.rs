//! Backends that create runs before their streams are opened.

use crate::base::catch_panic;
use crate::http::HttpClient;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::dialect::HttpRequest;
use stepwell_core::run::{EffectId, Input};
use stepwell_core::run_source::{
    CreatedThread, RunRequests, RunSourceError, Soliplex, SoliplexRun,
};
use stepwell_core::transcript::Transcript;
use stepwell_core::{RunId, ThreadId};

/// A run that a backend should create.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewRun {
    /// The run's thread.
    pub thread_id: ThreadId,
    /// The run that this run continues; the first run of a thread has none.
    pub parent_run_id: Option<RunId>,
}

/// The source of an agent's runs, one for each hop. An async closure from a [`NewRun`] to the id of the run is a
/// source; so is a [`RestRunSource`], for a backend whose REST interface Stepwell knows. The turn fails with the text
/// of its error.
pub trait RunSource: Send + Sync + 'static {
    /// Creates a run. Dropping the future cancels the work.
    fn create_run(
        &self,
        client: HttpClient,
        new: NewRun,
    ) -> BoxFuture<'static, Result<RunId, String>>;
}

impl<F, Fut, E> RunSource for F
where
    F: Fn(NewRun) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<RunId, E>> + Send + 'static,
    E: fmt::Display,
{
    fn create_run(
        &self,
        _client: HttpClient,
        new: NewRun,
    ) -> BoxFuture<'static, Result<RunId, String>> {
        let created = self(new);
        async move { created.await.map_err(|error| error.to_string()) }.boxed()
    }
}

/// A backend that creates threads and runs by REST. Clones share their state.
#[derive(Debug)]
pub struct RestRunSource<R> {
    requests: Arc<R>,
    /// The runs that were created with new threads and are not used yet.
    first: Arc<Mutex<BTreeMap<ThreadId, RunId>>>,
}

impl<R> Clone for RestRunSource<R> {
    fn clone(&self) -> Self {
        Self {
            requests: Arc::clone(&self.requests),
            first: Arc::clone(&self.first),
        }
    }
}

/// Why a request to a backend failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestError {
    /// No answer came.
    #[error("the backend cannot be reached: {0}")]
    Connection(String),
    /// The backend refused the request, or its answer cannot be read.
    #[error(transparent)]
    Answer(#[from] RunSourceError),
}

impl<R: RunRequests> RestRunSource<R> {
    /// Returns a source that sends these requests.
    pub fn new(requests: R) -> Self {
        Self {
            requests: Arc::new(requests),
            first: Arc::default(),
        }
    }

    /// Creates a thread. If the backend creates a first run with it, the thread's first hop uses that run.
    ///
    /// # Errors
    /// The backend cannot be reached, refused the request, or sent an unexpected answer.
    pub async fn create_thread(&self, client: &HttpClient) -> Result<CreatedThread, RestError> {
        let (status, body) = send(client, self.requests.create_thread()).await?;
        let thread = self.requests.thread_created(status, &body)?;
        if let Some(run_id) = &thread.run_id {
            lock(&self.first).insert(thread.thread_id.clone(), run_id.clone());
        }
        Ok(thread)
    }
}

impl RestRunSource<Soliplex> {
    /// Reads the conversation of a thread that the server keeps, to [begin](crate::Conversation::with_history) with.
    ///
    /// # Errors
    /// The server cannot be reached, refused the request, or sent an unexpected answer.
    pub async fn transcript(
        &self,
        client: &HttpClient,
        thread_id: &ThreadId,
    ) -> Result<Transcript, RestError> {
        let (status, body) = send(client, self.requests.list_runs(thread_id)).await?;
        let mut runs: Vec<SoliplexRun> = Vec::new();
        for run_id in self.requests.runs_listed(status, &body)? {
            let (status, body) = send(client, self.requests.get_run(thread_id, &run_id)).await?;
            runs.push(self.requests.run_kept(status, &body)?);
        }
        Ok(Soliplex::transcript(thread_id, &runs))
    }
}

impl<R: RunRequests + Send + Sync + 'static> RunSource for RestRunSource<R> {
    fn create_run(
        &self,
        client: HttpClient,
        new: NewRun,
    ) -> BoxFuture<'static, Result<RunId, String>> {
        let source = self.clone();
        async move {
            if let Some(run_id) = lock(&source.first).remove(&new.thread_id) {
                return Ok(run_id);
            }
            let requests = &source.requests;
            let request = requests.create_run(&new.thread_id, new.parent_run_id.as_ref());
            let answer = send(&client, request).await;
            let (status, body) = answer.map_err(|error| error.to_string())?;
            let created = requests.run_created(status, &body);
            created.map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// Nothing is left half-done under the lock.
fn lock(first: &Mutex<BTreeMap<ThreadId, RunId>>) -> MutexGuard<'_, BTreeMap<ThreadId, RunId>> {
    first.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn send(client: &HttpClient, request: HttpRequest) -> Result<(u16, Vec<u8>), RestError> {
    let answer = client.exchange(request).await;
    answer.map_err(|error| RestError::Connection(error.to_string()))
}

/// Calls the source, and returns the machine's input.
pub(crate) async fn create_run(
    source: Option<Arc<dyn RunSource>>,
    client: HttpClient,
    effect: EffectId,
    new: NewRun,
) -> Input<'static> {
    let not_created = |message: String| Input::RunNotCreated { effect, message };
    let Some(source) = source else {
        return not_created("this app has no run source".to_owned());
    };
    match catch_panic(async move { source.create_run(client, new).await }).await {
        Ok(Ok(run_id)) => Input::RunCreated { effect, run_id },
        Ok(Err(message)) => not_created(message),
        Err(_) => not_created("the app's code for it broke off".to_owned()),
    }
}
