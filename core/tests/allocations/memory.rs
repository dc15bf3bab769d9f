//! What a run holds while it streams: the text, and little over it.

use crate::{CHUNK, mock};
use allocation_counter::measure;
use std::borrow::Cow;
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{Effect, EffectId, Input, Output, RunConfig, RunMachine, Start};
use stepwell_core::transcript::Transcript;
use stepwell_core::{Timestamp, provider};
use stepwell_mock_llm::{Answer, Call, Setting};

/// So long is the text: a power of two, which the room that a growing text has is too.
const TEXT: usize = 1 << 17;

/// All that a run may hold beside its text.
const BESIDE: usize = 16 << 10;

const PIECE: &str = "sixteen bytes of";

/// A machine that waits for bytes in this dialect.
fn streaming(dialect: Dialect) -> (RunMachine, EffectId) {
    let mut endpoints = provider::all().iter().flat_map(|provider| {
        let names = provider.apis.iter().map(|api| &*api.name);
        names.filter_map(|api| {
            let endpoint =
                provider.endpoint(Some(api), "m", Some("http://localhost"), Some("key".into()));
            endpoint.ok()
        })
    });
    let endpoint = endpoints.find(|endpoint| endpoint.dialect == dialect);
    let config = Arc::new(RunConfig::new(endpoint.expect("a provider speaks it")));
    let mut machine = RunMachine::new(config, "t".into(), Transcript::default());
    let start = Start::new("r", Message::user("q", "?"));
    machine
        .start(start, Timestamp(0))
        .expect("a new machine starts");
    let opens = std::iter::from_fn(|| machine.poll_output()).find_map(|output| match output {
        Output::Effect(effect, Effect::OpenStream { .. }) => Some(effect),
        _ => None,
    });
    let effect = opens.expect("a started machine opens a stream");
    let content_type = (dialect != Dialect::Ollama).then(|| "text/event-stream".to_owned());
    let opened = Input::Opened {
        effect,
        content_type,
    };
    machine.handle(opened, Timestamp(0)).expect("in its place");
    (machine, effect)
}

fn assert_little(dialect: Dialect, answer: Answer) {
    let bytes = answer.cut().body(mock(dialect), &Setting::new());
    let (mut machine, effect) = streaming(dialect);
    let held = measure(|| {
        for chunk in bytes.chunks(CHUNK) {
            let bytes = Cow::Borrowed(chunk);
            let received = Input::Received { effect, bytes };
            machine
                .handle(received, Timestamp(0))
                .expect("in its place");
            while machine.poll_output().is_some() {}
        }
    });
    let transcript = machine.transcript();
    let arguments = transcript.tool_calls();
    let arguments: usize = arguments.map(|call| call.function.arguments.len()).sum();
    assert_eq!(transcript.text().len() + arguments, TEXT, "{dialect:?}");
    let at_rest = usize::try_from(held.bytes_current).expect("no less than before");
    let at_most = usize::try_from(held.bytes_max).expect("small");
    println!("{dialect:?}: {at_rest} bytes held, {at_most} at most");
    assert!(
        at_rest <= TEXT + BESIDE,
        "{dialect:?}: {at_rest} bytes held"
    );
    // While a text moves to twice its room, the old one stands beside it.
    assert!(
        at_most <= TEXT + TEXT / 2 + BESIDE,
        "{dialect:?}: {at_most} bytes held at once"
    );
}

#[test]
fn a_stream_takes_the_room_of_its_text_and_little_beside_it() {
    let pieces = || std::iter::repeat_n(PIECE, TEXT / PIECE.len());
    for dialect in Dialect::ALL {
        assert_little(dialect, Answer::new().text(pieces()));
    }
    let call = Call::new("a", "f", pieces());
    assert_little(Dialect::OpenAiChat, Answer::new().call(call));
}
