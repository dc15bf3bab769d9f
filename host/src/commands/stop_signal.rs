use std::io;

/// The exit code of a program that Ctrl-C has ended: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// Listens for Ctrl-C or SIGTERM from now on, and returns when one has come. The next Ctrl-C ends the process at once.
#[cfg(unix)]
pub(super) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tokio::spawn(async move {
            interrupt.recv().await;
            std::process::exit(INTERRUPTED);
        });
    })
}

/// Returns when Ctrl-C was pressed. The next one ends the process at once.
#[cfg(not(unix))]
pub(super) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without it the program ends as soon as it is pressed.
        let _ = tokio::signal::ctrl_c().await;
        tokio::spawn(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(INTERRUPTED);
            }
        });
    })
}
