//! Complete steps: the content that no delta has brought is emitted then.

use super::super::super::text_digest::Whole;
use super::super::step::{WireContent, WireStep};
use super::super::steps::State;
use super::Decoder;
use crate::dialect::{DecodeError, Sink};
use std::borrow::Cow;

/// The warning for text that differs from what has been shown.
const OTHER_TEXT: &str = "the text of a complete step differs from its deltas";

impl Decoder {
    /// Completes a step of a complete answer.
    pub(super) fn complete(
        &mut self,
        at: usize,
        step: WireStep<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        let is_new = matches!(
            self.steps.get(at).map(|step| &step.state),
            Some(
                State::Call { slot: None, .. }
                    | State::Other(None, _)
                    | State::Thought { stretch: None, .. }
            )
        );
        let is_done = self.steps.get(at).is_none_or(|step| step.is_done);
        match step {
            _ if is_done => {}
            step if is_new => self.start(at, step, sink)?,
            WireStep::Call { arguments, .. } => {
                let whole = arguments.map_or("", |raw| raw.get());
                if !whole.is_empty() {
                    self.whole_arguments(at, whole, sink)?;
                }
            }
            WireStep::Other(step) => {
                if let Some(State::Other(kept, _)) = self.state(at) {
                    *kept = None;
                    self.keep(step, sink)?;
                }
            }
            step => self.content(at, step, sink)?,
        }
        self.stop(at, sink)
    }

    /// Emits the content of a thought or an output that no delta has brought.
    pub(super) fn content(
        &mut self,
        at: usize,
        step: WireStep<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), DecodeError> {
        match step {
            WireStep::Thought { summary, signature } => {
                let rest = self.rest(at, &summary, sink);
                self.thought(at, &rest, sink)?;
                let is_signed = matches!(
                    self.state(at),
                    Some(State::Thought {
                        is_signed: true,
                        ..
                    })
                );
                if !is_signed {
                    self.sign(at, signature.as_deref(), sink)?;
                }
            }
            WireStep::Output { content, error } => {
                let rest = self.rest(at, &content, sink);
                self.text(at, &rest, sink)?;
                let (cited, shown) = match self.state(at) {
                    Some(State::Output {
                        citations, others, ..
                    }) => (*citations, *others),
                    _ => (0, 0),
                };
                let (mut citations, mut others) = (Vec::new(), Vec::new());
                for content in content {
                    match content {
                        WireContent::Text { annotations, .. } => citations.extend(annotations),
                        other => others.push(other),
                    }
                }
                for annotation in citations.into_iter().skip(cited) {
                    self.citation(at, annotation, sink)?;
                }
                for content in others.into_iter().skip(shown) {
                    self.other_content(at, content, sink)?;
                }
                if let Some(error) = error {
                    self.answer.custom("step_error", error, sink)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the text that no delta has brought.
    fn rest<'a>(
        &mut self,
        at: usize,
        contents: &'a [WireContent<'_>],
        sink: &mut dyn Sink,
    ) -> Cow<'a, str> {
        let mut texts = contents.iter().filter_map(|content| match content {
            WireContent::Text { text, .. } => Some(&**text),
            _ => None,
        });
        let mut whole = Cow::Borrowed(texts.next().unwrap_or_default());
        for text in texts {
            whole.to_mut().push_str(text);
        }
        let (Some(State::Output { said, .. }) | Some(State::Thought { said, .. })) = self.state(at)
        else {
            return "".into();
        };
        let from = match said.against(&whole) {
            Whole::Longer(rest) => whole.len() - rest.len(),
            Whole::Same => whole.len(),
            Whole::Other => {
                if !whole.is_empty() {
                    sink.warning(OTHER_TEXT);
                }
                whole.len()
            }
        };
        match whole {
            Cow::Borrowed(whole) => Cow::Borrowed(&whole[from..]),
            Cow::Owned(mut whole) => {
                whole.drain(..from);
                Cow::Owned(whole)
            }
        }
    }
}
