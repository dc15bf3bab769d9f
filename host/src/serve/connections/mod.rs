//! The connections of the server: a limited number, none of which keeps others out by being silent.
//!
//! A connection that waits for a request has a deadline: [`Bounds::header_timeout`] for its first one,
//! [`Bounds::idle_timeout`] for the next, from when the client has read the last of an answer. Where there is no room
//! for a new connection, the one is closed that has waited longest for its client: for a request, for the rest of one,
//! or to read. One whose request is being answered has no deadline here: runs and bodies have their own.
//!
//! Where all are being answered, a few more are accepted that may ask for `/health` and `/ready` alone: a monitor of
//! the server always gets an answer. Their other requests are refused, unless there is room by then.

mod connection;
mod flow;
mod presence;
mod rooms;

pub(super) use connection::{CloseConnection, HEALTH_PATH, READY_PATH};
pub(super) use rooms::Bounds;

use axum::Router;
use connection::Connection;
use rooms::Connections;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Takes connections until `closing`, and waits then until all have been answered.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    closing: CancellationToken,
) {
    let connections = Arc::new(Connections::new(bounds));
    let tasks = TaskTracker::new();
    let take = async {
        loop {
            let stream = connections.accept(&listener).await;
            let slot = connections.slot().await;
            let router = router.clone();
            let connection = Connection::new(&connections, slot);
            let closing = closing.clone();
            tasks.spawn(connection.serve(stream, router, closing));
        }
    };
    tokio::select! {
        () = closing.cancelled() => {}
        () = take => {}
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

#[cfg(test)]
mod tests;
