use futures::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;

/// Runs code of the app.
///
/// # Errors
/// The code panicked: the message of the panic. Wrap a closure that makes a future into an async block, since the closure
/// may panic too.
pub(crate) async fn catch_panic<T>(code: impl Future<Output = T>) -> Result<T, String> {
    let result = AssertUnwindSafe(code).catch_unwind().await;
    result.map_err(|panic| message(&*panic).to_owned())
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}
