use crate::event::{Message, TokenUsage};
use crate::transcript::{Compaction, Transcript};
use serde::{Deserialize, Serialize};

/// The summary that a model is asked for, until it is complete or given up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Draft {
    /// The part of the conversation that requests no longer carry once the summary is complete.
    compaction: Compaction,
    /// The answer as it comes, apart from the conversation.
    answer: Transcript,
    /// The usage of the requests so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    usage: Vec<TokenUsage>,
}

impl Draft {
    /// Creates the draft of the summary for what this compaction leaves out.
    pub(crate) fn new(compaction: Compaction) -> Self {
        Self {
            compaction,
            ..Self::default()
        }
    }

    /// Returns the part of the conversation that requests will no longer carry.
    pub(crate) fn compaction(&self) -> &Compaction {
        &self.compaction
    }

    pub(crate) fn answer(&self) -> &Transcript {
        &self.answer
    }

    pub(crate) fn answer_mut(&mut self) -> &mut Transcript {
        &mut self.answer
    }

    /// Begins the answer again, and keeps the usage of the one before. Returns that usage.
    pub(crate) fn begin_again(&mut self) -> Vec<TokenUsage> {
        let usage = self.answer.summary().usage.clone();
        self.answer = Transcript::default();
        self.usage.extend(usage.iter().cloned());
        usage
    }

    /// Takes the usage of all requests that are over.
    pub(crate) fn take_usage(&mut self) -> Vec<TokenUsage> {
        std::mem::take(&mut self.usage)
    }

    /// Returns the text of the summary; `None` if it is empty or the model refuses.
    pub(crate) fn text(&self) -> Option<String> {
        let refuses = |message: &Message| {
            let metadata = message.metadata();
            metadata.is_some_and(|metadata| metadata.contains_key("refusal"))
        };
        if self.answer.messages().iter().any(refuses) {
            return None;
        }
        let text = self.answer.text();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::AssistantMessage;

    fn answered(text: &str) -> Draft {
        let mut draft = Draft::new(Compaction::default());
        let message = Message::Assistant(AssistantMessage {
            id: "m".into(),
            content: Some(text.to_owned()),
            ..AssistantMessage::default()
        });
        draft.answer_mut().put(message);
        draft.answer_mut().put_usage(vec![TokenUsage::default()]);
        draft
    }

    #[test]
    fn an_answer_without_text_is_no_summary() {
        assert_eq!(
            answered(" They met. \n").text().as_deref(),
            Some("They met.")
        );
        assert_eq!(answered(" \n").text(), None);
        let mut refusal = answered("I cannot.");
        if let Some(Message::Assistant(message)) = refusal.answer_mut().message_mut("m") {
            let mark = ("refusal".to_owned(), true.into());
            message.metadata = Some([mark].into_iter().collect());
        }
        assert_eq!(refusal.text(), None);
    }

    #[test]
    fn usage_is_kept_when_the_answer_begins_again() {
        let mut draft = answered("They");
        assert_eq!(draft.begin_again().len(), 1);
        assert_eq!(draft.text(), None);
        assert_eq!(draft.begin_again().len(), 0);
        assert_eq!(draft.take_usage().len(), 1);
        assert!(draft.take_usage().is_empty());
    }
}
