//! Backends that create the runs of an agent's hops, as code of the app.

use crate::error::CallbackError;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use stepwell_core::RunId;
use stepwell_io::HttpClient;

/// Creates the runs of an agent's hops, for a backend that creates each run before its stream is opened.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait RunSource: Send + Sync {
    /// Creates a run, and returns its id. An error fails the turn. When the turn is cancelled, so is the call.
    async fn create_run(&self, new: NewRun) -> Result<String, CallbackError>;
}

/// A run that a backend should create.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct NewRun {
    /// The thread of the run.
    pub thread_id: String,
    /// The run that the new run continues; absent for the first of a thread.
    pub parent_run_id: Option<String>,
}

impl From<stepwell_io::host::NewRun> for NewRun {
    fn from(new: stepwell_io::host::NewRun) -> Self {
        Self {
            thread_id: new.thread_id.into_string(),
            parent_run_id: new.parent_run_id.map(RunId::into_string),
        }
    }
}

/// The app's source of runs, as the driver calls it.
pub(crate) struct Source(pub(crate) Arc<dyn RunSource>);

impl stepwell_io::host::RunSource for Source {
    fn create_run(
        &self,
        _client: HttpClient,
        new: stepwell_io::host::NewRun,
    ) -> BoxFuture<'static, Result<RunId, String>> {
        let source = Arc::clone(&self.0);
        async move {
            let created = source.create_run(new.into()).await;
            created.map(RunId::from).map_err(|error| error.to_string())
        }
        .boxed()
    }
}
