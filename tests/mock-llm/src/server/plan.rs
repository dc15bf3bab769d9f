//! The steps of a hop become the parts of an answer, and these the bytes of a dialect.

use std::time::Duration;

use crate::Hop;
use crate::answer::made_id;
use crate::dialect::{Whole, WholeCall};
use crate::server::body::Segment;
use crate::server::hop::{Step, ToolCall};
use crate::writer::{Block, Setting, Usage, Writer};

/// Text without spaces is cut too: about what a model's longer tokens have.
const LONGEST_PIECE: usize = 12;

/// The needs of a plan besides the hop.
pub(crate) struct Pace {
    pub(crate) piece_delay: Duration,
    /// Bytes of the request, for the estimate of its tokens.
    pub(crate) request_bytes: usize,
}

/// The streamed answer.
pub(crate) fn stream(
    hop: &Hop,
    steps: &[Step],
    setting: &Setting,
    pace: &Pace,
    writer: Writer,
) -> Vec<Segment> {
    Player::new(hop, setting, pace, writer).answer(steps, pace)
}

/// The answer that is made in the background: a segment for each event. Where a body ends early, the answer continues.
pub(crate) fn background(
    hop: &Hop,
    steps: &[Step],
    setting: &Setting,
    pace: &Pace,
    writer: Writer,
) -> Vec<Segment> {
    let mut player = Player::new(hop, setting, pace, writer);
    player.in_background = true;
    player.answer(steps, pace)
}

fn usage(hop: &Hop, pace: &Pace, output_bytes: usize) -> Usage {
    let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
    let estimate = Usage {
        input: tokens(pace.request_bytes),
        output: tokens(output_bytes),
    };
    hop.usage.unwrap_or(estimate)
}

fn call_id(call: &ToolCall, position: usize, index: usize) -> String {
    call.id.clone().unwrap_or_else(|| made_id(position, index))
}

struct Player<'a> {
    hop: &'a Hop,
    writer: Writer,
    position: usize,
    delay: Duration,
    out: Vec<Segment>,
    calls: usize,
    pieces: usize,
    bytes: usize,
    in_background: bool,
}

impl<'a> Player<'a> {
    fn new(hop: &'a Hop, setting: &Setting, pace: &Pace, writer: Writer) -> Self {
        Self {
            hop,
            writer,
            position: setting.position,
            delay: hop.piece_delay.unwrap_or(pace.piece_delay),
            out: Vec::new(),
            calls: 0,
            pieces: 0,
            bytes: 0,
            in_background: false,
        }
    }

    /// Plays the steps and what ends the answer.
    fn answer(mut self, steps: &[Step], pace: &Pace) -> Vec<Segment> {
        let ends = self.play(steps);
        if ends && !self.hop.bare {
            let usage = usage(self.hop, pace, self.bytes);
            let stop_reason = self.hop.stop_reason.as_deref();
            self.write(Writer::close);
            self.write(|writer| writer.finish(stop_reason, Some(usage)));
        }
        self.out
    }

    /// Plays the steps. Returns whether the answer continues to its usual end.
    fn play(&mut self, steps: &[Step]) -> bool {
        if !self.hop.bare {
            self.write(Writer::start);
        }
        let mut failed = false;
        let mut steps = steps;
        while let Some((step, rest)) = steps.split_first() {
            steps = rest;
            match step {
                Step::Pause(duration) => self.out.push(Segment::Pause(*duration)),
                Step::Stall => self.out.push(Segment::Stall),
                Step::Cut => self.out.push(Segment::Cut),
                Step::EndEarly if self.in_background => self.out.push(Segment::End),
                Step::EndEarly => return false,
                Step::RawBytes(bytes) => self.out.push(Segment::Bytes(bytes.clone())),
                Step::RawFrame(data) => self.write(|writer| writer.frame(data)),
                // After its error a model sends nothing more.
                _ if failed => {}
                Step::Text(text) => self.text(Block::Text, text),
                Step::Reasoning(text) => self.text(Block::Reasoning, text),
                Step::ToolCall(call) => {
                    let mut calls = vec![call];
                    while let (true, Some((Step::ToolCall(next), rest))) =
                        (self.hop.interleave, steps.split_first())
                    {
                        calls.push(next);
                        steps = rest;
                    }
                    self.calls(&calls);
                }
                Step::ErrorEvent { message, code } => {
                    failed = true;
                    self.write(|writer| writer.error(message, code.as_deref()));
                }
            }
        }
        !failed
    }

    /// Writes one chunk of the body, or in the background one for each event.
    fn write(&mut self, write: impl FnOnce(&mut Writer)) {
        write(&mut self.writer);
        let mut frames = self.writer.take();
        if !self.in_background {
            frames = vec![frames.concat()];
        }
        let frames = frames.into_iter().filter(|bytes| !bytes.is_empty());
        let segments = frames.map(|bytes| Segment::Bytes(bytes.into()));
        self.out.extend(segments);
    }

    /// Writes a piece of text or arguments, after the delay between two pieces.
    fn piece(&mut self, length: usize, write: impl FnOnce(&mut Writer)) {
        if self.pieces > 0 && !self.delay.is_zero() {
            self.out.push(Segment::Pause(self.delay));
        }
        self.pieces += 1;
        self.bytes += length;
        self.write(write);
    }

    fn text(&mut self, block: Block, text: &str) {
        self.write(|writer| writer.open(block));
        for piece in pieces(text, self.hop.pieces) {
            self.piece(piece.len(), |writer| writer.piece(block, piece));
        }
    }

    /// Writes calls that come together: all starts, the pieces in turn, all ends. A single call is the plain case.
    fn calls(&mut self, calls: &[&ToolCall]) {
        self.write(Writer::close);
        let first = self.calls;
        self.calls += calls.len();
        let mut running: Vec<_> = calls
            .iter()
            .zip(first..)
            .map(|(call, index)| {
                let id = call_id(call, self.position, index);
                (index, id, call, pieces(&call.arguments, self.hop.pieces))
            })
            .collect();
        for (index, id, call, _) in &running {
            self.write(|writer| writer.call_start(*index, id, &call.name));
        }
        let mut sent = true;
        while std::mem::take(&mut sent) {
            for (index, id, _, pieces) in &mut running {
                if let Some(piece) = pieces.next() {
                    sent = true;
                    self.piece(piece.len(), |writer| {
                        writer.call_arguments(*index, id, piece);
                    });
                }
            }
        }
        for (_, id, _, _) in &running {
            self.write(|writer| writer.call_end(id));
        }
    }
}

/// Returns the answer in one piece, for a request that does not stream, and the steps before it. There is no answer
/// when the script stalls or cuts; the error's message when it has an error event.
pub(crate) fn whole(
    hop: &Hop,
    steps: &[Step],
    setting: &Setting,
    pace: &Pace,
) -> (Vec<Segment>, Result<Option<Whole>, String>) {
    let mut before = Vec::new();
    let mut answer = Whole::default();
    let mut bytes = 0;
    for step in steps {
        match step {
            Step::Text(text) => {
                bytes += text.len();
                answer.text.get_or_insert_default().push_str(text);
            }
            Step::Reasoning(text) => {
                bytes += text.len();
                answer.reasoning.get_or_insert_default().push_str(text);
            }
            Step::ToolCall(call) => {
                bytes += call.arguments.len();
                let id = call_id(call, setting.position, answer.calls.len());
                let (name, arguments) = (call.name.clone(), call.arguments.clone());
                answer.calls.push(WholeCall {
                    id,
                    name,
                    arguments,
                });
            }
            Step::Pause(duration) => before.push(Segment::Pause(*duration)),
            Step::Stall => {
                before.push(Segment::Stall);
                return (before, Ok(None));
            }
            Step::Cut => {
                before.push(Segment::Cut);
                return (before, Ok(None));
            }
            Step::ErrorEvent { message, .. } => return (before, Err(message.clone())),
            Step::EndEarly => break,
            // These steps are about the stream, and there is none.
            Step::RawFrame(_) | Step::RawBytes(_) => {}
        }
    }
    answer.stop_reason = hop.stop_reason.clone();
    answer.usage = Some(usage(hop, pace, bytes));
    (before, Ok(Some(answer)))
}

/// Cuts a text into pieces of at most `size` bytes, or by the word. A character is never split.
fn pieces(text: &str, size: Option<usize>) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let limit = size.unwrap_or(LONGEST_PIECE).max(1);
        let word = match size {
            // A word keeps the space that follows it.
            None => rest.find(char::is_whitespace).map_or(rest.len(), |space| {
                let spaces = rest[space..].find(|c: char| !c.is_whitespace());
                spaces.map_or(rest.len(), |length| space + length)
            }),
            Some(_) => rest.len(),
        };
        let mut end = word.min(limit);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        if end == 0 {
            end = rest.chars().next()?.len_utf8();
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, size: Option<usize>) -> Vec<&str> {
        pieces(text, size).collect()
    }

    #[test]
    fn words_keep_their_space_and_long_ones_are_split() {
        assert_eq!(cut("Let me  look. ", None), ["Let ", "me  ", "look. "]);
        assert_eq!(
            cut(r#"{"name":"alice"}"#, None),
            [r#"{"name":"ali"#, r#"ce"}"#]
        );
        assert_eq!(cut("  x", None), ["  ", "x"]);
        assert_eq!(cut("", None), Vec::<&str>::new());
    }

    #[test]
    fn a_character_is_never_split() {
        assert_eq!(cut("aé日🎉", Some(1)), ["a", "é", "日", "🎉"]);
        assert_eq!(cut("aé日🎉", Some(0)), ["a", "é", "日", "🎉"]);
        assert_eq!(cut("aé日🎉", Some(3)), ["aé", "日", "🎉"]);
        assert_eq!(
            cut("日本語日本語日本語", None),
            ["日本語日", "本語日本", "語"]
        );
    }

    #[test]
    fn the_pieces_make_the_text() {
        let text = "Zwölf  Boxkämpfer\n\tjagen 日本語 🎉🎉 quer_über_den_großen_Sylter_Deich ";
        for size in (0..20).map(Some).chain([None, Some(usize::MAX)]) {
            assert_eq!(cut(text, size).concat(), text);
        }
    }
}
