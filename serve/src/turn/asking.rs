//! What comes to a server's turn from its tools: they ask to run, and ask while they run.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use stepwell_core::run::{EffectId, Question, UserAnswer};
use stepwell_io::tool::{Answerer, Approver, Decision, ToolInvocation};
use tokio::sync::{mpsc, oneshot};

/// A question, and the receiver of its answer. The type is small, since each run has a queue with room for many.
#[derive(Debug)]
pub(crate) enum Asking {
    /// A tool asks to run.
    Call(Box<ToolInvocation>, oneshot::Sender<Decision>),
    /// A running tool wants to know something.
    Tool(Box<ToolAsks>, oneshot::Sender<UserAnswer>),
    /// A running tool's question waits no more: it has an answer, or its time or its call is over.
    Withdrawn(EffectId),
}

/// The question of a running tool.
#[derive(Debug)]
pub(crate) struct ToolAsks {
    /// The call.
    pub invocation: ToolInvocation,
    /// The question's place among those of the call, from 0.
    pub number: u32,
    /// The question.
    pub question: Question,
}

impl ToolAsks {
    /// The question's schema as an interrupt has it: as an object, whatever its form.
    pub(crate) fn response_schema(&self) -> Map<String, Value> {
        match &self.question.schema {
            Value::Object(schema) => schema.clone(),
            Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
            _ => Map::new(),
        }
    }
}

/// Puts what tools ask the user into a queue, and waits for the answer.
#[derive(Clone)]
pub(crate) struct Queue(pub(crate) mpsc::UnboundedSender<Asking>);

impl Approver for Queue {
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision> {
        let (sender, decided) = oneshot::channel();
        let _ = self.0.send(Asking::Call(Box::new(invocation), sender));
        answer(decided).boxed()
    }
}

impl Answerer for Queue {
    fn ask(
        &self,
        invocation: ToolInvocation,
        number: u32,
        question: Question,
    ) -> BoxFuture<'static, UserAnswer> {
        let (sender, answered) = oneshot::channel();
        let call = invocation.call;
        let asks = ToolAsks {
            invocation,
            number,
            question,
        };
        let _ = self.0.send(Asking::Tool(Box::new(asks), sender));
        let waits = Waits {
            asking: self.0.clone(),
            effect: EffectId::Ask { call, number },
        };
        async move {
            let answer = answer(answered).await;
            drop(waits);
            answer
        }
        .boxed()
    }
}

/// Waits for the answer. Without anyone to ask, waits for ever: the turn is about to be released.
async fn answer<T>(answered: oneshot::Receiver<T>) -> T {
    match answered.await {
        Ok(answer) => answer,
        Err(_) => std::future::pending().await,
    }
}

/// A wait for the answer to a question, until it is dropped.
struct Waits {
    asking: mpsc::UnboundedSender<Asking>,
    effect: EffectId,
}

impl Drop for Waits {
    fn drop(&mut self) {
        let _ = self.asking.send(Asking::Withdrawn(self.effect));
    }
}
