#[cfg(feature = "model-check")]
mod canonical;

use crate::CallKey;
use crate::run::protocol::{EffectId, Question, QuestionError, UserAnswer};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The questions that the running tools ask or have asked the user, ordered by call and number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Questions {
    asked: Vec<Asked>,
    /// The remaining time of the tools that wait for the user.
    left: Vec<(CallKey, Duration)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Asked {
    call: CallKey,
    number: u32,
    question: Question,
    answer: Option<UserAnswer>,
    /// The running tool has asked, and has no answer yet.
    is_awaited: bool,
}

impl Asked {
    fn id(&self) -> EffectId {
        EffectId::Ask {
            call: self.call,
            number: self.number,
        }
    }

    fn is_open(&self) -> bool {
        self.is_awaited && self.answer.is_none()
    }
}

impl Questions {
    pub(crate) fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.left.is_empty()
    }

    /// Checks that a tool may ask this question.
    ///
    /// # Errors
    /// The tool may not ask this question.
    pub(crate) fn may_ask(&self, call: CallKey, number: u32) -> Result<(), QuestionError> {
        match self.find(call, number) {
            Some(asked) if asked.is_awaited => Err(QuestionError::Twice(number)),
            _ => Ok(()),
        }
    }

    /// Notes a tool's question. Returns whether to ask the user: not if the same question was answered when the tool
    /// ran before.
    pub(crate) fn ask(&mut self, call: CallKey, number: u32, question: Question) -> bool {
        let mut known = self.asked.iter_mut();
        let known = known.find(|asked| {
            (asked.call, asked.number) == (call, number)
                && asked.question == question
                && asked.answer.is_some()
        });
        if let Some(known) = known {
            known.is_awaited = true;
            return false;
        }
        // The tool took another path than before: from here on its earlier questions were different.
        self.asked
            .retain(|asked| asked.call != call || asked.number < number || asked.is_awaited);
        let at = self
            .asked
            .partition_point(|asked| (asked.call, asked.number) < (call, number));
        let asked = Asked {
            call,
            number,
            question,
            answer: None,
            is_awaited: true,
        };
        self.asked.insert(at, asked);
        true
    }

    pub(crate) fn question(&self, call: CallKey, number: u32) -> Option<&Question> {
        self.find(call, number).map(|asked| &asked.question)
    }

    pub(crate) fn answer(&self, call: CallKey, number: u32) -> Option<&UserAnswer> {
        self.find(call, number)?.answer.as_ref()
    }

    /// Notes the user's answer.
    pub(crate) fn set_answer(&mut self, call: CallKey, number: u32, answer: UserAnswer) {
        if let Some(asked) = self.find_mut(call, number) {
            asked.answer = Some(answer);
        }
    }

    /// Notes that the tool has its answer.
    pub(crate) fn told(&mut self, call: CallKey, number: u32) {
        if let Some(asked) = self.find_mut(call, number) {
            asked.is_awaited = false;
        }
    }

    /// Returns whether the user is asked any question.
    pub(crate) fn are_open(&self) -> bool {
        self.asked.iter().any(Asked::is_open)
    }

    /// Returns whether the user is asked a question for this call.
    pub(crate) fn is_asking(&self, call: CallKey) -> bool {
        let mut open = self.asked.iter().filter(|asked| asked.is_open());
        open.any(|asked| asked.call == call)
    }

    /// The effects of the call's questions.
    pub(crate) fn of(&self, call: CallKey) -> Vec<EffectId> {
        let of_call = self.asked.iter().filter(|asked| asked.call == call);
        of_call.map(Asked::id).collect()
    }

    /// The call is over.
    pub(crate) fn forget(&mut self, call: CallKey) {
        self.asked.retain(|asked| asked.call != call);
        self.left.retain(|(of, _)| *of != call);
    }

    /// The call is run from its beginning: it may ask again what was answered.
    pub(crate) fn begin_again(&mut self, call: CallKey) {
        self.asked
            .retain(|asked| asked.call != call || asked.answer.is_some());
        self.asked
            .iter_mut()
            .for_each(|asked| asked.is_awaited &= asked.call != call);
        self.left.retain(|(of, _)| *of != call);
    }

    /// Notes how much time the tool has left while its clock is stopped.
    pub(crate) fn keep_time(&mut self, call: CallKey, left: Duration) {
        self.left.push((call, left));
    }

    /// Takes the time that the tool had left.
    pub(crate) fn take_time(&mut self, call: CallKey) -> Option<Duration> {
        let at = self.left.iter().position(|(of, _)| *of == call)?;
        Some(self.left.remove(at).1)
    }

    fn find(&self, call: CallKey, number: u32) -> Option<&Asked> {
        let mut asked = self.asked.iter();
        asked.find(|asked| (asked.call, asked.number) == (call, number))
    }

    fn find_mut(&mut self, call: CallKey, number: u32) -> Option<&mut Asked> {
        let mut asked = self.asked.iter_mut();
        asked.find(|asked| (asked.call, asked.number) == (call, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CALL: CallKey = CallKey { hop: 0, index: 0 };

    fn yes() -> UserAnswer {
        UserAnswer::Given { value: json!(true) }
    }

    #[test]
    fn the_same_question_at_the_same_place_has_its_answer() {
        let mut questions = Questions::default();
        for (number, text) in [(0, "First?"), (1, "Second?")] {
            assert!(questions.ask(CALL, number, text.into()));
            questions.set_answer(CALL, number, yes());
            questions.told(CALL, number);
        }
        questions.begin_again(CALL);
        assert!(!questions.ask(CALL, 0, "First?".into()));
        assert!(questions.ask(CALL, 1, "Something else?".into()));
        assert_eq!(questions.answer(CALL, 1), None);
        assert!(questions.is_asking(CALL));
        questions.forget(CALL);
        assert!(questions.is_empty());
    }

    #[test]
    fn what_had_no_answer_is_asked_anew() {
        let mut questions = Questions::default();
        assert!(questions.ask(CALL, 0, "First?".into()));
        assert_eq!(questions.may_ask(CALL, 0), Err(QuestionError::Twice(0)));
        questions.begin_again(CALL);
        assert_eq!(questions.may_ask(CALL, 0), Ok(()));
        assert!(questions.ask(CALL, 0, "First?".into()));
    }
}
