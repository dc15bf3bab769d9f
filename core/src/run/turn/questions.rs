//! The reports of a running tool before its end: its progress, its partial result, and its questions to the user.
//!
//! Owns `questions` and the effects that ask. A question that was answered before a crash is not asked again.

use super::Turn;
use crate::CallKey;
use crate::run::protocol::{
    BlockContent, Effect, EffectId, MOST_MESSAGE, Misuse, Question, QuestionError, RunEvent,
    TimerKey, ToolPartialResult, ToolProgress, UserAnswer,
};
use crate::tool::ToolOutput;
use crate::transcript::ToolCallStatus;

impl Turn {
    pub(in crate::run) fn tool_progress(
        &mut self,
        key: CallKey,
        fraction: Option<f64>,
        message: Option<String>,
    ) {
        let Some(call) = self.transcript.call(key) else {
            return;
        };
        let progress = ToolProgress {
            call: key,
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            fraction: fraction
                .filter(|fraction| fraction.is_finite())
                // The fraction is rounded, so that a journal, where the last digit may differ, replays the same value.
                .map(|fraction| (fraction.clamp(0.0, 1.0) * 1e4).round() / 1e4),
            message: message.map(cut),
        };
        self.event(RunEvent::ToolProgress(progress));
    }

    pub(in crate::run) fn tool_partial_result(&mut self, key: CallKey, output: ToolOutput) {
        if let Some(call) = self.transcript.call(key) {
            let partial = ToolPartialResult {
                call: key,
                tool_call_id: call.id.clone(),
                name: call.name.clone(),
                output,
            };
            self.event(RunEvent::ToolPartialResult(partial));
        }
    }

    /// Checks that a running tool can ask this question.
    ///
    /// # Errors
    /// The tool cannot ask this question.
    pub(in crate::run) fn may_ask(
        &self,
        key: CallKey,
        number: u32,
        question: &Question,
    ) -> Result<(), QuestionError> {
        question.may_be_asked(number)?;
        self.questions.may_ask(key, number)
    }

    /// A running tool asks the user.
    pub(in crate::run) fn ask_user(&mut self, key: CallKey, number: u32, question: Question) {
        if !self.is_call(key, ToolCallStatus::Executing) {
            return;
        }
        if self.questions.ask(key, number, question.clone()) {
            if let Some(left) = self.clocks.take(TimerKey::Tool(key)) {
                self.questions.keep_time(key, left);
            }
            self.record(BlockContent::QuestionAsked {
                call: key,
                number,
                question,
                deadline: self.asking_ends(),
            });
        }
        self.emit(EffectId::Ask { call: key, number });
    }

    /// Checks that the answer fits the question.
    ///
    /// # Errors
    /// The answer does not fit.
    pub(in crate::run) fn check_answer(
        &self,
        key: CallKey,
        number: u32,
        answer: &UserAnswer,
    ) -> Result<(), Misuse> {
        match (answer, self.questions.question(key, number)) {
            (UserAnswer::Given { value }, Some(question)) => {
                question.check(value).map_err(Misuse::Answer)
            }
            _ => Ok(()),
        }
    }

    /// Records that the user has answered, or will not answer. The tool gets the answer once it is stored.
    pub(in crate::run) fn answer_tool(&mut self, key: CallKey, number: u32, answer: UserAnswer) {
        let Some(question) = self.questions.question(key, number).cloned() else {
            return;
        };
        let effect = EffectId::Ask { call: key, number };
        self.answered(effect);
        self.record(BlockContent::Answer {
            call: key,
            number,
            question,
            answer: answer.clone(),
        });
        self.questions.set_answer(key, number, answer);
        self.emit(effect);
    }

    /// Returns the next effect for a question: to ask it, or to give the tool the answer.
    pub(in crate::run) fn question_effect(&self, key: CallKey, number: u32) -> Option<Effect> {
        if let Some(answer) = self.questions.answer(key, number) {
            let answer = answer.clone();
            return Some(Effect::AnswerTool { answer });
        }
        Some(Effect::AskUser {
            invocation: Box::new(self.invocation(key)?),
            question: self.questions.question(key, number)?.clone(),
        })
    }

    /// Ends the questions of a call that is over or whose result comes later, since no tool waits for an answer.
    pub(super) fn end_questions(&mut self, key: CallKey) {
        for effect in self.questions.of(key) {
            self.withdraw(effect);
        }
        self.questions.forget(key);
    }

    /// The host died, and with it the tools that had asked.
    pub(in crate::run) fn forget_asking(&mut self) {
        let asking: Vec<_> = self.effects.iter().map(|(id, _)| id).collect();
        for id in asking {
            if matches!(id, EffectId::Ask { .. }) {
                self.answered(id);
            }
        }
    }

    /// The host died while the tool ran, which is run again.
    pub(in crate::run) fn run_again(&mut self, key: CallKey) {
        self.questions.begin_again(key);
        if let Some(call) = self.transcript.call_mut(key) {
            call.restarts = call.restarts.saturating_add(1);
        }
    }
}

fn cut(mut message: String) -> String {
    if message.len() > MOST_MESSAGE {
        let end = (0..=MOST_MESSAGE).rev();
        let end = end.into_iter().find(|at| message.is_char_boundary(*at));
        message.truncate(end.unwrap_or(0));
    }
    message
}
