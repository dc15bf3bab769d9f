use crate::Tally;
use allocation_counter::measure;
use stepwell_core::dialect::{Decode, Decoder, Dialect, HopIds, Sink};
use stepwell_core::event::{EventRef, Order, Violation};
use stepwell_core::wire::Frame;

/// Checks the order, and counts what comes.
#[derive(Default)]
struct Counter {
    order: Order,
    tally: Tally,
}

impl Sink for Counter {
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        self.order.check(event)?;
        self.tally.event(event)
    }

    fn warning(&mut self, message: &str) {
        self.tally.warning(message);
    }
}

#[test]
fn i14_a_plain_delta_allocates_nothing() {
    let mut decoder = Decoder::new(Dialect::AgUi, HopIds::default());
    let mut counter = Counter::default();
    let mut feed = |data: &[u8], counter: &mut Counter| {
        let frame = Frame {
            event: &[],
            data,
            id: &[],
            ..Frame::default()
        };
        decoder.frame(frame, counter).unwrap();
    };
    feed(
        br#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        &mut counter,
    );
    for index in 0..100 {
        let start = format!(r#"{{"type":"TEXT_MESSAGE_START","messageId":"m{index}"}}"#);
        feed(start.as_bytes(), &mut counter);
        let start =
            format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"c{index}","toolCallName":"n"}}"#);
        feed(start.as_bytes(), &mut counter);
    }
    feed(
        br#"{"type":"REASONING_MESSAGE_START","messageId":"m7","role":"reasoning"}"#,
        &mut counter,
    );
    let deltas: [&[u8]; 3] = [
        br#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m7","delta":"Hello \"world\" \u00e9"}"#,
        br#"{"type":"TOOL_CALL_ARGS","toolCallId":"c99","delta":"{\"city\":\"Bern\"}"}"#,
        br#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"m7","delta":"hm"}"#,
    ];
    // The first of each kind is kept, and the room for unescaping is made once.
    for delta in deltas.iter().chain(&deltas) {
        feed(delta, &mut counter);
    }
    let allocations = measure(|| {
        for _ in 0..1_000 {
            for delta in deltas {
                feed(delta, &mut counter);
            }
        }
    });
    assert_eq!(counter.tally.deltas, 3_006);
    assert_eq!(allocations.count_total, 0, "{allocations:?}");
}
