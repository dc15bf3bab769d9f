use crate::error::StepwellError;
use std::sync::LazyLock;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Result<Runtime, String>> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .thread_name("stepwell")
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
});

/// The runtime that all agents' work runs on. The app's own threads only wait for it.
pub(crate) fn runtime() -> Result<&'static Runtime, StepwellError> {
    RUNTIME
        .as_ref()
        .map_err(|reason| StepwellError::Unavailable {
            reason: format!("the threads for the network cannot be started: {reason}"),
            advice: "look at the process's limits of threads and open files".to_owned(),
        })
}
