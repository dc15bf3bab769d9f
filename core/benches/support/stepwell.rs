//! Stepwell's full path: framer, decoder, order check, conversation, and the queue for the app, which is drained after
//! each chunk.

use super::workload::Workload;
use super::{Decoded, Format};
use std::borrow::Cow;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use stepwell_core::conversation::Conversation;
use stepwell_core::event::Message;
use stepwell_core::run::{Effect, Input, Output, RunConfig, RunMachine, Start};
use stepwell_core::wire::{FrameLimits, SseFramer, WireError};
use stepwell_core::{Timestamp, provider};

pub(crate) fn decode(work: &Workload, chunk: usize) -> Decoded {
    let provider = match work.format {
        Format::OpenAiChat => "openai-compatible",
        Format::AgUi => "ag-ui",
    };
    let endpoint = provider::find(provider)
        .expect("a provider of the table")
        .endpoint(None, "model", Some("http://localhost"), None)
        .expect("a whole endpoint");
    let mut config = RunConfig::new(endpoint);
    // The calls that the stream asks for are counted, not answered.
    config.limits.max_tool_rounds = 0;
    let now = Timestamp(0);
    let history = Conversation::new(work.history.clone());
    let mut machine = RunMachine::new(Arc::new(config), "thread".into(), history);
    machine
        .start(Start::new("run", Message::user("question", "?")), now)
        .expect("a new machine starts");
    let effect = std::iter::from_fn(|| machine.poll_output())
        .find_map(|output| match output {
            Output::Effect(id, Effect::OpenStream { .. }) => Some(id),
            _ => None,
        })
        .expect("a started machine opens a stream");
    let content_type = Some("text/event-stream".to_owned());
    feed(
        &mut machine,
        Input::Opened {
            effect,
            content_type,
        },
    );

    let start = Instant::now();
    for chunk in work.bytes.chunks(chunk) {
        let bytes = Cow::Borrowed(chunk);
        feed(&mut machine, Input::Received { effect, bytes });
    }
    feed(&mut machine, Input::Ended { effect });
    let time = start.elapsed();

    let conversation = machine.conversation();
    Decoded {
        time,
        text: conversation.text().len(),
        args: conversation
            .tool_calls()
            .map(|call| call.function.arguments.len())
            .sum(),
    }
}

fn feed(machine: &mut RunMachine, input: Input<'_>) {
    machine
        .handle(input, Timestamp(0))
        .expect("an input in its place");
    while let Some(output) = machine.poll_output() {
        black_box(&output);
    }
}

pub(crate) fn frames(bytes: &[u8], chunk: usize, mut frame: impl FnMut(&[u8])) {
    let mut framer = SseFramer::new(FrameLimits::default());
    for chunk in bytes.chunks(chunk) {
        framer
            .receive(chunk, |found| {
                frame(found.data);
                Ok::<_, WireError>(())
            })
            .expect("the workload is well formed");
    }
}
