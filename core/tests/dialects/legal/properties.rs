//! What holds of the legaliser itself.

use super::histories::history;
use super::targets::{PROVIDERS, endpoints, kimis};
use std::collections::HashSet;
use stepwell_core::dialect::legal::{Rules, legalise};
use stepwell_core::dialect::{Endpoint, SentMessage};
use stepwell_core::event::{ContentPart, Message, MessageContent};

/// Histories of every source, and every API that they may be for.
fn each(mut check: impl FnMut(&Endpoint, &[Message])) {
    let all: Vec<_> = PROVIDERS
        .iter()
        .flat_map(|provider| endpoints(provider))
        .chain(kimis())
        .collect();
    for source in PROVIDERS {
        for seed in 0..20 {
            let history = history(seed, source);
            for endpoint in &all {
                check(endpoint, &history);
            }
        }
    }
}

fn legal(history: &[Message], rules: &Rules<'_>) -> Vec<Message> {
    let legal = legalise(history, rules).into_iter();
    legal.map(SentMessage::into_message).collect()
}

#[test]
fn what_is_legal_stays_as_it_is_and_is_not_copied() {
    each(|endpoint, history| {
        let rules = Rules::of(endpoint);
        let once = legal(history, &rules);
        let again = legalise(&once, &rules);
        assert_eq!(again.len(), once.len(), "{rules:?}");
        for (once, again) in once.iter().zip(again) {
            assert!(
                matches!(again, SentMessage::Kept(kept) if std::ptr::eq(kept, once)),
                "{rules:?}"
            );
        }
    });
}

#[test]
fn the_same_history_gives_the_same_and_what_is_added_changes_nothing_before_it() {
    each(|endpoint, history| {
        let rules = Rules::of(endpoint);
        let whole = legal(history, &rules);
        assert_eq!(whole, legal(history, &rules));
        // The ids of the calls of a prefix, in order, are those of the whole.
        let ids = |messages: &[Message]| -> Vec<String> {
            let calls = messages.iter().flat_map(|message| match message {
                Message::Assistant(said) => said.tool_calls.clone(),
                _ => Vec::new(),
            });
            calls.map(|call| call.id.to_string()).collect()
        };
        let all = ids(&whole);
        for end in 0..history.len() {
            let some = ids(&legal(&history[..end], &rules));
            assert_eq!(some, all[..some.len()]);
        }
    });
}

/// The unique words in a text.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter(|word| word.starts_with("word"))
        .map(str::to_owned)
        .collect()
}

fn text(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Parts(parts) => parts
            .iter()
            .filter_map(|part| match part {
                ContentPart::Text(part) => Some(format!("{} ", part.text)),
                _ => None,
            })
            .collect(),
    }
}

/// What everyone said, but the tools.
fn said(messages: &[Message]) -> Vec<String> {
    let texts = messages.iter().filter_map(|message| match message {
        Message::Developer(said) | Message::System(said) => Some(said.content.clone()),
        Message::User(said) => Some(text(&said.content)),
        Message::Assistant(said) => {
            let refusal = said
                .metadata
                .as_ref()
                .and_then(|metadata| metadata.get("refusal"));
            Some(match &said.content {
                Some(text) => text.clone(),
                None => refusal.map(ToString::to_string).unwrap_or_default(),
            })
        }
        _ => None,
    });
    texts.flat_map(|text| words(&text)).collect()
}

#[test]
fn no_word_of_anyone_is_lost_and_none_comes_twice() {
    each(|endpoint, history| {
        let rules = Rules::of(endpoint);
        let (before, after) = (said(history), said(&legal(history, &rules)));
        if rules.system_first {
            let (before, after): (HashSet<_>, HashSet<_>) =
                (before.iter().collect(), after.iter().collect());
            assert_eq!(before, after);
        } else {
            assert_eq!(before, after, "in their order");
        }
    });
}

#[test]
fn every_call_has_one_result_right_behind_its_answer_in_the_order_of_the_calls() {
    each(|endpoint, history| {
        let legal = legal(history, &Rules::of(endpoint));
        let is_kimi = endpoint.model.contains("kimi");
        let mut seen = HashSet::new();
        let mut open = Vec::new();
        let mut answering = false;
        for message in &legal {
            match message {
                Message::Assistant(said) => {
                    assert!(open.is_empty() || answering, "an answer before the results");
                    if is_kimi && open.is_empty() {
                        // Its ids are unique within an answer.
                        seen.clear();
                    }
                    answering = true;
                    for call in &said.tool_calls {
                        assert!(seen.insert(call.id.clone()), "an id came twice");
                        open.push(call.id.clone());
                    }
                }
                Message::Reasoning(_) => answering = true,
                Message::Tool(result) => {
                    answering = false;
                    assert_eq!(Some(&result.tool_call_id), open.first());
                    open.remove(0);
                }
                _ => {
                    assert!(open.is_empty(), "{message:?} before the results");
                    answering = false;
                }
            }
        }
        assert!(open.is_empty());
    });
}

#[test]
fn an_agent_gets_what_was_said_as_it_was() {
    let endpoint = &endpoints("ag-ui")[0];
    let mut rules = Rules::of(endpoint);
    assert!(rules.may_leave_calls_open, "an interrupt may be about them");
    rules.may_leave_calls_open = false;
    for seed in 0..100 {
        let history = history(seed, "openai");
        let legal = legal(&history, &rules);
        let kept: Vec<_> = legal
            .iter()
            .filter(|message| !message.id().ends_with("-no-result"))
            .collect();
        assert_eq!(kept, history.iter().collect::<Vec<_>>());
    }
}
