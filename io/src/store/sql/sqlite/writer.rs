//! The thread that writes a file: its connection is used by no other thread, and the changes that wait are committed
//! together.

use super::session::SqliteSession;
use crate::store::StoreError;
use crate::store::sql::change::{MAX_GROUP, commit_together};
use crate::store::sql::database::Job;
use crate::store::wake::Wakers;
use futures::executor::block_on;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// How often the file is checked for changes of other processes, while threads are followed.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// A message to the thread.
enum Order {
    Change(Box<dyn Job<SqliteSession>>),
    /// A thread is followed from now on.
    Watch,
    /// Brings the write-ahead log into the file, closes the connection and answers.
    Close(oneshot::Sender<()>),
}

/// The sending half. Dropping it ends the thread, once the changes that wait are committed.
#[derive(Debug)]
pub(super) struct Writer(Sender<Order>);

impl Writer {
    /// Starts the thread of a connection.
    pub(super) fn start(session: SqliteSession, wakers: Wakers) -> Result<Self, StoreError> {
        let (sender, orders) = channel();
        let thread = thread::Builder::new().name("stepwell-sqlite".to_owned());
        let started = thread.spawn(move || Thread { orders, wakers }.run(session));
        started.map_err(|error| StoreError::Other {
            message: format!("no thread can be started: {error}"),
        })?;
        Ok(Self(sender))
    }

    /// Hands a change to the thread. After its end the change is dropped, which answers its caller.
    pub(super) fn submit(&self, job: Box<dyn Job<SqliteSession>>) {
        let _ = self.0.send(Order::Change(job));
    }

    /// Looks out for changes of other processes while threads are followed.
    pub(super) fn watch(&self) {
        let _ = self.0.send(Order::Watch);
    }

    /// Waits for the changes that were handed in before, and closes the file.
    pub(super) async fn close(&self) {
        let (closed, is_closed) = oneshot::channel();
        let _ = self.0.send(Order::Close(closed));
        let _ = is_closed.await;
    }
}

struct Thread {
    orders: Receiver<Order>,
    wakers: Wakers,
}

impl Thread {
    fn run(self, mut session: SqliteSession) {
        let mut version = session.data_version();
        let mut gives_back = false;
        loop {
            // No caller waits for the space.
            let order = match gives_back {
                true => match self.orders.try_recv() {
                    Ok(order) => order,
                    Err(TryRecvError::Disconnected) => return,
                    Err(TryRecvError::Empty) => {
                        gives_back = session.give_back();
                        continue;
                    }
                },
                false => match self.next(&session, &mut version) {
                    Some(order) => order,
                    None => return,
                },
            };
            let mut jobs = Vec::new();
            let mut next = Some(order);
            while let Some(order) = next.take() {
                match order {
                    Order::Change(job) => jobs.push(job),
                    Order::Watch => {}
                    Order::Close(closed) => {
                        block_on(commit_together(&mut session, jobs));
                        while session.give_back() {}
                        session.close();
                        let _ = closed.send(());
                        return;
                    }
                }
                if jobs.len() < MAX_GROUP {
                    next = self.orders.try_recv().ok();
                }
            }
            if !jobs.is_empty() {
                block_on(commit_together(&mut session, jobs));
                gives_back = session.give_back();
            }
        }
    }

    /// Waits for a message. `None` if no more can come.
    fn next(&self, session: &SqliteSession, version: &mut Option<i64>) -> Option<Order> {
        loop {
            if !self.wakers.has_followers() {
                return self.orders.recv().ok();
            }
            match self.orders.recv_timeout(CHECK_INTERVAL) {
                Ok(order) => return Some(order),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    let now = session.data_version();
                    if now != *version {
                        *version = now;
                        self.wakers.wake_all();
                    }
                }
            }
        }
    }
}
