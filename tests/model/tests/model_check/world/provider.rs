//! The provider that makes its answers in the background: what it has made, and what of that has come to the run.

use super::*;
use crate::peer::{Made, PIECES};
use stepwell_core::event::Event;

/// What is at the provider. The host's death changes nothing there.
#[derive(Clone, Debug, Default)]
pub struct Provider {
    answers: Vec<Made>,
    /// The number of times that the network or the provider may still fail.
    breaks: u8,
    /// The number of times that an answer may still be unfinished when it is read.
    unfinished: u8,
}

/// What the run has been told of its answers.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// The answer that is read now, by its number at the provider, and the number of its events that have come.
    reading: Option<(u8, u8)>,
    /// The ids of the answers, once they are known.
    known: Vec<(String, Fate)>,
    /// The texts of all answers, as far as they have come.
    text: String,
    /// The texts that the user has seen.
    seen: String,
    /// The number of answers that were billed.
    billed: u64,
    /// The failures since something new has come.
    failures: u32,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    Running,
    Finished,
    Cancelled,
    /// The app was told that the provider goes on with it.
    GivenUp,
}

impl Provider {
    pub fn new(bounds: &Bounds) -> Self {
        let background = bounds.background;
        Self {
            answers: Vec::new(),
            breaks: background.map_or(0, |background| background.breaks),
            unfinished: background.map_or(0, |background| background.unfinished),
        }
    }
}

impl World {
    /// Returns whether the network or the provider may fail now.
    pub fn may_break(&self) -> bool {
        self.bounds.background.is_none() || self.provider.breaks > 0
    }

    /// The network or the provider fails.
    pub(super) fn breaks(&mut self) {
        self.provider.breaks = self.provider.breaks.saturating_sub(1);
        // Without a network no attempt counts.
        self.ghost.heard.failures += u32::from(!self.is_offline);
    }

    /// Returns the tokens that the open body may bring next.
    pub fn next_stored(&self, said: Said) -> Vec<Token> {
        let Some((answer, _)) = self.ghost.heard.reading else {
            return Vec::new();
        };
        let made = &self.provider.answers[usize::from(answer)];
        said.next_stored(&self.bounds, made, self.provider.unfinished)
    }

    /// Opens the body that a request asks for.
    pub(super) fn open(&mut self, effect: EffectId) -> Said {
        if self.bounds.background.is_none() {
            return Said::default();
        }
        match (self.hand(effect).cloned(), effect) {
            (Some(Hand::Rest(answer, after)), _) => {
                let made = &self.provider.answers[usize::from(answer)];
                match after {
                    Some(after) => Said::after(&made.events[..=usize::from(after)]),
                    None => Said::whole(),
                }
            }
            (_, EffectId::Open { hop, attempt }) => {
                let answers = &mut self.provider.answers;
                if self.crashes == 0 {
                    // No host will read them.
                    answers.clear();
                }
                let made = Made {
                    hop,
                    attempt,
                    events: Vec::new(),
                    is_cancelled: false,
                };
                // After a crash the same request may be sent again.
                let same = |made: &Made| (made.hop, made.attempt) == (hop, attempt);
                let answer = match answers.iter().position(same) {
                    Some(at) => {
                        answers[at] = made;
                        at
                    }
                    None => {
                        answers.push(made);
                        answers.len() - 1
                    }
                };
                let answer = u8::try_from(answer).expect("a few");
                self.ghost.heard.reading = Some((answer, 0));
                Said::default()
            }
            _ => Said::default(),
        }
    }

    /// The provider says it: the bytes.
    pub(super) fn say_stored(&mut self, effect: EffectId, mut said: Said, token: Token) -> Vec<u8> {
        let hop = self.machine.hop();
        let heard = &mut self.ghost.heard;
        let Some((answer, events)) = &mut heard.reading else {
            self.wrong(format!("{effect} brings no answer"));
            return Vec::new();
        };
        let made = &mut self.provider.answers[usize::from(*answer)];
        match token {
            Token::Whole(call) => made.finish(call),
            Token::Unfinished => self.provider.unfinished -= 1,
            token if token.is_event() && said.events() == made.events.len() => {
                made.events.push(token);
            }
            _ => {}
        }
        let is_new = token.is_event() && said.events() == usize::from(*events);
        if is_new {
            *events += 1;
            heard.failures = 0;
            match token {
                Token::Created => heard.known.push((made.id(), Fate::Running)),
                Token::Text => heard.text += PIECES[said.pieces()],
                Token::Done => heard.billed += 1,
                _ => {}
            }
            if matches!(token, Token::Done | Token::Error) {
                heard.end(Fate::Finished);
            }
        }
        if let Token::Call(kind) = token {
            let index = said.calls.into();
            self.asked.push((CallKey { hop, index }, kind));
        }
        if token == Token::Done {
            self.finished = Some(hop);
        }
        let bytes = said.say_stored(token, made);
        self.put(effect, Hand::Stream(said));
        bytes
    }

    /// The body ends as it should.
    pub(super) fn close(&mut self, effect: EffectId) {
        let Some(Hand::Stream(said)) = self.take(effect) else {
            return;
        };
        match (said.body(), self.ghost.heard.reading) {
            (Body::Whole(Token::Unfinished), _) => self.ghost.heard.failures = 0,
            (Body::Whole(token), Some((answer, events))) => {
                self.ghost.heard.end(Fate::Finished);
                if matches!(token, Token::Whole(_)) {
                    self.read_rest(answer, events);
                }
            }
            _ if said.is_over() => {}
            _ => self.breaks(),
        }
    }

    /// The connection breaks.
    pub(super) fn break_off(&mut self, effect: EffectId) {
        if let Some(Hand::Stream(said)) = self.take(effect)
            && !said.is_over()
        {
            self.breaks();
        }
    }

    /// The rest of an answer has come, which was read as a whole.
    fn read_rest(&mut self, answer: u8, events: u8) {
        let hop = self.machine.hop();
        let made = &self.provider.answers[usize::from(answer)];
        let heard = &mut self.ghost.heard;
        let mut said = Said::after(&made.events[..usize::from(events)]);
        for token in &made.events[usize::from(events)..] {
            match token {
                Token::Text => heard.text += PIECES[said.pieces()],
                Token::Call(kind) => {
                    let index = said.calls.into();
                    self.asked.push((CallKey { hop, index }, *kind));
                }
                Token::Done => heard.billed += 1,
                _ => {}
            }
            said.note(*token);
        }
        heard.reading = None;
        self.finished = Some(hop);
    }

    /// The host is to read the rest of an answer.
    pub fn begin_reading(&mut self, id: EffectId, url: &str) {
        self.count_request(id);
        let (path, position) = match url.split_once("?stream=true&starting_after=") {
            Some((path, after)) => (path, after.parse::<u8>().ok()),
            None => (url, None),
        };
        let answer = path.rsplit('/').next().unwrap_or_default();
        let known = self.ghost.heard.known.last();
        if known != Some(&(answer.to_owned(), Fate::Running)) {
            let known = self.ghost.heard.known.clone();
            self.wrong(format!("{id} reads the answer {answer}, of {known:?}"));
        }
        let failures = self.ghost.heard.failures;
        if failures >= self.bounds.config.retry.max_attempts() {
            self.wrong(format!(
                "I1: {id} is sent after {failures} failures in a row"
            ));
        }
        let Some((number, events)) = self.ghost.heard.reading else {
            return self.wrong(format!("{id} reads the answer {answer} again"));
        };
        if position.is_some() && position != events.checked_sub(1) {
            self.wrong(format!(
                "{id} reads on after the event {position:?}, and {events} have come"
            ));
        }
        self.put(id, Hand::Rest(number, position));
    }

    /// The host is to cancel an answer.
    pub fn cancelled(&mut self, url: &str) {
        let answer = url.trim_end_matches("/cancel").rsplit('/').next();
        let answer = answer.unwrap_or_default();
        let known = self.ghost.heard.known.iter_mut();
        match known.rev().find(|(id, _)| id == answer) {
            Some((_, fate)) if *fate == Fate::Running => *fate = Fate::Cancelled,
            other => {
                let what = format!("the answer {answer} is cancelled, which is {other:?}");
                self.wrong(what);
            }
        }
        let made = self.provider.answers.iter_mut();
        for made in made.filter(|made| made.id() == answer) {
            made.is_cancelled = true;
        }
    }

    /// The app is told something.
    pub fn warned(&mut self, message: &str) {
        if message.contains("goes on at the provider") {
            self.ghost.heard.end(Fate::GivenUp);
        }
    }

    /// The user sees it.
    pub fn shows(&mut self, event: &Event) {
        if let Event::TextMessageContent(event) = event {
            self.ghost.heard.seen += event.delta.trim_start_matches('\n');
        }
    }

    /// A host that restarts shows the conversation as it was stored.
    pub(super) fn show_again(&mut self) {
        if self.bounds.background.is_some() {
            self.ghost.heard.seen = self.texts();
        }
    }

    fn texts(&self) -> String {
        let messages = self.machine.transcript().messages().iter();
        let texts = messages.filter_map(|message| match message {
            Message::Assistant(message) => message.content.as_deref(),
            _ => None,
        });
        texts.collect()
    }

    /// Checks that no answer is made any more that nobody waits for.
    pub fn check_none_is_left(&mut self) {
        let known = &self.ghost.heard.known;
        if let Some((id, _)) = known.iter().find(|(_, fate)| *fate == Fate::Running) {
            self.wrong(format!("the provider goes on with {id}, which is left"));
        }
    }

    /// Checks the answers that are made in the background: each piece is shown once and in its order, none is taken back,
    /// the cost of each is counted once, and none is left to the provider.
    pub fn check_answers(&mut self) {
        let texts = self.texts();
        let heard = &self.ghost.heard;
        if texts != heard.text || heard.seen != heard.text {
            self.wrong(format!(
                "{:?} has come, the user has seen {:?}, and the history has {texts:?}",
                heard.text, heard.seen
            ));
        }
        if self.is_over() {
            self.check_none_is_left();
            let counted = self.machine.usage().input_tokens.unwrap_or(0);
            let billed = self.ghost.heard.billed;
            if counted != billed {
                self.wrong(format!(
                    "{counted} answers were counted, and {billed} billed"
                ));
            }
        }
    }

    /// Feeds the provider to the print of the world.
    pub(super) fn print_provider(&self, out: &mut DefaultHasher) {
        let provider = &self.provider;
        (provider.breaks, provider.unfinished).hash(out);
        let heard = &self.ghost.heard;
        // What is made matters to a run that reads on, here or after a crash.
        let snapshot = self.store.snapshot.as_ref();
        let is_stored = snapshot.is_some_and(|snapshot| !snapshot.is_over);
        if !self.is_over() || (self.crashes > 0 && is_stored) {
            provider.answers.hash(out);
        }
        if !self.is_over() {
            (heard.reading, heard.failures).hash(out);
        }
        let known = heard.known.iter();
        let running = known.filter(|(_, fate)| *fate == Fate::Running);
        running.count().hash(out);
        let counted = self.machine.usage().input_tokens.unwrap_or(0);
        counted.wrapping_sub(heard.billed).hash(out);
    }
}

impl Heard {
    /// The last answer that is known has come to its end.
    fn end(&mut self, end: Fate) {
        if let Some((_, fate)) = self.known.last_mut()
            && *fate == Fate::Running
        {
            *fate = end;
        }
    }
}
