//! Stepwell's full path: framer, decoder, order check, conversation, and the queue for the app, which is drained after
//! each chunk.

use super::workload::Workload;
use super::{Decoded, Format};
use std::borrow::Cow;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use stepwell_core::event::Message;
use stepwell_core::run::{Effect, EffectId, Input, Output, RunConfig, RunMachine, Start};
use stepwell_core::transcript::Transcript;
use stepwell_core::wire::{FrameLimits, SseFramer, WireError};
use stepwell_core::{Timestamp, provider};

/// A machine in the middle of a stream, and the stream's effect.
pub(crate) struct Streaming {
    pub(crate) machine: RunMachine,
    pub(crate) effect: EffectId,
}

impl Streaming {
    pub(crate) fn new(work: &Workload, partial_arguments: bool) -> Self {
        let provider = match work.format {
            Format::OpenAiChat | Format::OpenAiResponses => "openai-compatible",
            Format::Cohere => "cohere",
            Format::Mistral => "mistral",
            Format::Gemini => "gemini",
            Format::Ollama => "ollama",
            Format::Anthropic => "anthropic",
            Format::AgUi => "ag-ui",
        };
        let api = (work.format == Format::OpenAiResponses).then_some("responses");
        let endpoint = provider::find(provider)
            .expect("a provider of the table")
            .endpoint(api, "model", Some("http://localhost"), None)
            .expect("a whole endpoint");
        let mut config = RunConfig::new(endpoint);
        config.partial_arguments = partial_arguments;
        // The calls that the stream asks for are counted, not answered.
        config.limits.max_tool_rounds = 0;
        let history = Transcript::new(work.history.clone());
        let mut machine = RunMachine::new(Arc::new(config), "thread".into(), history);
        machine
            .start(
                Start::new("run", Message::user("question", "?")),
                Timestamp(0),
            )
            .expect("a new machine starts");
        let effect = std::iter::from_fn(|| machine.poll_output())
            .find_map(|output| match output {
                Output::Effect(id, Effect::OpenStream { .. }) => Some(id),
                _ => None,
            })
            .expect("a started machine opens a stream");
        let mut streaming = Self { machine, effect };
        let content_type = Some("text/event-stream".to_owned());
        streaming.feed(Input::Opened {
            effect,
            content_type,
        });
        streaming
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        let bytes = Cow::Borrowed(bytes);
        let effect = self.effect;
        self.feed(Input::Received { effect, bytes });
    }

    fn feed(&mut self, input: Input<'_>) {
        self.machine
            .handle(input, Timestamp(0))
            .expect("an input in its place");
        while let Some(output) = self.machine.poll_output() {
            black_box(&output);
        }
    }
}

pub(crate) fn decode(work: &Workload, chunk: usize) -> Decoded {
    decode_with(work, work.bytes.chunks(chunk), false)
}

pub(crate) fn decode_with<'b>(
    work: &Workload,
    chunks: impl Iterator<Item = &'b [u8]>,
    partial_arguments: bool,
) -> Decoded {
    let mut streaming = Streaming::new(work, partial_arguments);
    let effect = streaming.effect;
    let start = Instant::now();
    for chunk in chunks {
        streaming.receive(chunk);
    }
    streaming.feed(Input::Ended { effect });
    let time = start.elapsed();

    let transcript = streaming.machine.transcript();
    Decoded {
        time,
        text: transcript.text().len() + transcript.reasoning().len(),
        args: transcript
            .tool_calls()
            .map(|call| call.function.arguments.len())
            .sum(),
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
