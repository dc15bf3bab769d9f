//! The requests of one life of a host to Restate's stand-in, and the endpoint at which it receives turns.

use super::life::Life;
use super::restate::{Said, Server};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use stepwell_serve::parts::seam::{
    Door, Invocation, Reply, Restate, RestateError, Signal, Tell, Why, Work,
};
use stepwell_serve::parts::{DriverSetup, RestateEngine};
use tokio::sync::oneshot;

/// The requests of one life of a host.
#[derive(Debug)]
struct Ingress {
    server: Arc<Server>,
    life: Arc<Life>,
}

impl Restate for Ingress {
    fn send<'a>(
        &'a self,
        invocation: &'a Invocation,
        once: &'a str,
        delay: Option<Duration>,
    ) -> BoxFuture<'a, Result<(), RestateError>> {
        async move {
            self.life.moment("it asks Restate").await;
            self.server.asked().await?;
            let key = (invocation.thread.clone(), once.to_owned());
            if self.server.sent.lock().unwrap().insert(key) {
                let (server, invocation) = (Arc::clone(&self.server), invocation.clone());
                match delay {
                    None => server.invoke(invocation),
                    Some(delay) => drop(tokio::spawn(async move {
                        tokio::time::sleep(delay).await;
                        server.invoke(invocation);
                    })),
                }
            }
            self.life.moment("Restate answers").await;
            self.server.answers(())
        }
        .boxed()
    }

    fn tell<'a>(
        &'a self,
        tell: &'a Tell,
        longest: Duration,
    ) -> BoxFuture<'a, Result<Reply, RestateError>> {
        async move {
            self.life.moment("it asks Restate").await;
            self.server.asked().await?;
            let number = self.server.numbers.fetch_add(1, Ordering::Relaxed);
            let signal = Signal {
                turn: tell.turn.clone(),
                says: tell.says.clone(),
                reply_to: format!("reply-{number}"),
            };
            let (replies, reply) = oneshot::channel();
            self.server.awaits(&signal, replies);
            self.server.with(&tell.thread, |object| {
                let _ = object.signals.send(Said::PassOn(signal.clone()));
            });
            self.server.invoke(Invocation {
                thread: tell.thread.clone(),
                turn: tell.turn.clone(),
                why: Why::Told(signal),
            });
            let reply = tokio::time::timeout(longest, reply).await;
            self.life.moment("Restate answers").await;
            match reply {
                Ok(Ok(reply)) => self.server.answers(reply),
                _ => Err(Server::away("no answer in time")),
            }
        }
        .boxed()
    }

    fn reply<'a>(
        &'a self,
        to: &'a str,
        reply: &'a Reply,
    ) -> BoxFuture<'a, Result<(), RestateError>> {
        async move {
            self.life.moment("it asks Restate").await;
            self.server.asked().await?;
            let awaited = self.server.awaited.lock().unwrap().remove(to);
            if let Some(awaited) = awaited {
                self.server.note(format!("{to} is {reply:?}"));
                let _ = awaited.send(reply.clone());
            }
            self.life.moment("Restate answers").await;
            self.server.answers(())
        }
        .boxed()
    }
}

/// The endpoint at which one life of a host receives turns.
#[derive(Debug)]
struct Entrance {
    server: Arc<Server>,
    life: Arc<Life>,
    work: Arc<Work>,
}

impl Door for Entrance {
    fn open(&self) {
        let host = (Arc::clone(&self.life), Arc::clone(&self.work));
        self.server.hosts.lock().unwrap().push(host);
    }

    fn close(&self) {
        let mut hosts = self.server.hosts.lock().unwrap();
        hosts.retain(|(life, _)| !Arc::ptr_eq(life, &self.life));
    }
}

/// Makes the engine of one life of a host.
#[derive(Clone)]
pub(crate) struct Maker {
    server: Arc<Server>,
    life: Arc<Life>,
}

impl Maker {
    pub(super) fn new(server: &Arc<Server>, life: &Arc<Life>) -> Self {
        Self {
            server: Arc::clone(server),
            life: Arc::clone(life),
        }
    }

    pub(in crate::serve) fn engine(&self, setup: DriverSetup) -> RestateEngine {
        let (server, life) = (&self.server, &self.life);
        let ingress = Ingress {
            server: Arc::clone(server),
            life: Arc::clone(life),
        };
        let work = RestateEngine::work(setup, Arc::new(ingress));
        let entrance = Entrance {
            server: Arc::clone(server),
            life: Arc::clone(life),
            work: Arc::clone(&work),
        };
        RestateEngine::behind(work, Box::new(entrance))
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Maker").field(&self.life.name).finish()
    }
}
