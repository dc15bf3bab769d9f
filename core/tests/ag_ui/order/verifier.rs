//! What becomes of events that break a rule: strictly, leniently, and by the rules that the reference does not check.

use super::event;
use super::table::Table;
use super::walks::any_event;
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::event::{
    End, EventRef, ExtraRules, Finding, Phase, Rule, Severity, Verdict, Verification, Verifier,
    Violation,
};
use stepwell_core::transcript::Transcript;

struct Judged {
    verifier: Verifier,
    findings: Vec<Finding>,
    taken: Vec<Value>,
    refused: Option<Violation>,
}

fn judge(mut verifier: Verifier, events: &[Value]) -> Judged {
    let (mut findings, mut taken) = (Vec::new(), Vec::new());
    for json in events {
        let event = event(json);
        let found = &mut |finding| findings.push(finding);
        match verifier.check(EventRef::from(&event), found) {
            Ok(Verdict::Take) => taken.push(json.clone()),
            Ok(Verdict::Drop) => {}
            Err(violation) => {
                return Judged {
                    verifier,
                    findings,
                    taken,
                    refused: Some(violation),
                };
            }
        }
    }
    Judged {
        verifier,
        findings,
        taken,
        refused: None,
    }
}

fn with(verification: Verification, events: &[Value]) -> Judged {
    judge(Verifier::new(verification, ExtraRules::Off), events)
}

fn started() -> Value {
    json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
}

fn finished() -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
}

fn call(kind: &str, id: &str) -> Value {
    match kind {
        "START" => json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "n"}),
        "ARGS" => json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": "{}"}),
        _ => json!({"type": "TOOL_CALL_END", "toolCallId": id}),
    }
}

fn found(judged: &Judged) -> Vec<(Rule, Severity, u64)> {
    let findings = judged.findings.iter();
    findings
        .map(|finding| (finding.rule, finding.severity, finding.event))
        .collect()
}

#[test]
fn what_is_lost_or_left_open_ends_the_stream_unless_it_is_judged_leniently() {
    let stray = [started(), call("ARGS", "nobody"), call("END", "nobody")];
    let open = [started(), call("START", "c"), finished()];
    for (events, severity, rule, many) in [
        (&stray, Severity::Dropped, Rule::O9, 2),
        (&open, Severity::Warned, Rule::O4, 1),
    ] {
        let refused = with(Verification::Protocol, events);
        assert_eq!(refused.refused.map(|violation| violation.rule), Some(rule));
        let judged = with(Verification::Lenient, events);
        assert_eq!(judged.refused, None, "{rule}");
        assert_eq!(judged.findings.len(), many, "{rule}");
        let are = |finding: &Finding| (finding.rule, finding.severity) == (rule, severity);
        assert!(judged.findings.iter().all(are), "{:?}", judged.findings);
    }
}

#[test]
fn a_lenient_run_goes_on_without_what_is_wrong() {
    let text =
        |kind: &str, id: &str| json!({"type": format!("TEXT_MESSAGE_{kind}"), "messageId": id});
    let piece = |id: &str| json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "d"});
    let step = json!({"type": "STEP_FINISHED", "stepName": "never"});
    let error = json!({"type": "RUN_ERROR", "message": "m"});
    let of = |mut event: Value| {
        event["subagentRunId"] = "s".into();
        event
    };
    use Severity::{Dropped, Warned};
    for (events, expected) in [
        (vec![started(), piece("m")], (Rule::O7, Dropped, 2)),
        (
            vec![started(), text("START", "m"), text("START", "m")],
            (Rule::O6, Dropped, 3),
        ),
        (
            vec![started(), text("START", "m"), of(piece("m"))],
            (Rule::O7, Dropped, 3),
        ),
        (vec![started(), started()], (Rule::O2, Dropped, 2)),
        (
            vec![started(), finished(), finished()],
            (Rule::O4, Dropped, 3),
        ),
        (
            vec![started(), finished(), step.clone()],
            (Rule::O5, Dropped, 3),
        ),
        (vec![error.clone(), error], (Rule::O3, Dropped, 2)),
        (vec![started(), step.clone()], (Rule::O12, Warned, 2)),
        (vec![text("START", "m"), piece("m")], (Rule::O1, Warned, 1)),
        (vec![finished()], (Rule::O1, Dropped, 1)),
    ] {
        let strict = with(Verification::Protocol, &events).refused;
        assert_eq!(strict.map(|violation| violation.rule), Some(expected.0));
        let judged = with(Verification::Lenient, &events);
        assert_eq!(judged.refused, None);
        assert_eq!(found(&judged), [expected], "{events:?}");
        let dropped = usize::from(expected.1 == Dropped);
        assert_eq!(judged.taken.len(), events.len() - dropped, "{events:?}");
    }
    // Without a beginning, two breaches: that there is no run, and that there is no message.
    let judged = with(Verification::Lenient, &[piece("m"), step]);
    assert_eq!(
        found(&judged),
        [
            (Rule::O1, Warned, 1),
            (Rule::O7, Dropped, 1),
            (Rule::O1, Warned, 2),
            (Rule::O12, Warned, 2)
        ]
    );
}

#[test]
fn a_stream_without_an_end_is_no_success_however_lenient() {
    for events in [vec![], vec![started()], vec![finished()]] {
        let mut judged = with(Verification::Lenient, &events);
        let end = judged.verifier.end(&mut |_| {}).unwrap();
        assert!(matches!(end, End::Truncated(_)), "{events:?}: {end:?}");
    }
}

#[test]
fn the_extra_rules_are_said_or_fatal_or_left_alone() {
    let interrupts = |ids: [&str; 2]| {
        let interrupts = ids.map(|id| json!({"id": id, "reason": "why"}));
        let mut event = finished();
        event["outcome"] = json!({"type": "interrupt", "interrupts": interrupts});
        event
    };
    let start = |field: &str, value: &str| {
        let mut event = started();
        event[field] = value.into();
        event
    };
    let finish = |field: &str| {
        let mut event = finished();
        event[field] = "other".into();
        event
    };
    let renamed = json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "other"});
    let child = json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"});
    let again = |event: Value| vec![started(), call("START", "c"), call("END", "c"), event];
    for (events, expected) in [
        (vec![started(), finish("runId")], Some((Rule::S1, 2))),
        (vec![started(), finish("threadId")], Some((Rule::S1, 2))),
        (vec![start("threadId", "other")], Some((Rule::S2, 1))),
        (vec![started(), interrupts(["a", "a"])], Some((Rule::S3, 2))),
        (vec![started(), interrupts(["a", "b"])], None),
        (again(renamed), Some((Rule::S4, 4))),
        (again(child), Some((Rule::S4, 4))),
        (again(call("START", "c")), None),
        // A replay of an earlier run may come first.
        (
            vec![start("runId", "before"), finish("x")],
            Some((Rule::S1, 2)),
        ),
    ] {
        let asked =
            |rules| Verifier::new(Verification::Protocol, rules).requested("t".into(), "r".into());
        let judged = judge(asked(ExtraRules::Warn), &events);
        let expected_finding = expected.map(|(rule, at)| (rule, Severity::Warned, at));
        assert_eq!(
            found(&judged),
            Vec::from_iter(expected_finding),
            "{events:?}"
        );
        assert_eq!(judged.taken.len(), events.len());
        let judged = judge(asked(ExtraRules::Fatal), &events);
        let refused = judged.refused.map(|violation| violation.rule);
        assert_eq!(refused, expected.map(|(rule, _)| rule), "{events:?}");
        let judged = judge(asked(ExtraRules::Off), &events);
        assert!(judged.findings.is_empty() && judged.refused.is_none());
    }
}

#[test]
fn the_run_that_was_asked_for_is_missed_at_the_end() {
    let of = |run: &str| {
        [started(), finished()].map(|mut event| {
            event["runId"] = run.into();
            event
        })
    };
    for (runs, is_missed) in [
        (vec!["r"], false),
        (vec!["before", "r"], false),
        (vec!["before"], true),
    ] {
        let events: Vec<_> = runs.iter().flat_map(|run| of(run)).collect();
        let verifier = Verifier::new(Verification::Protocol, ExtraRules::Warn);
        let mut judged = judge(verifier.requested("t".into(), "r".into()), &events);
        let mut findings = Vec::new();
        let end = judged.verifier.end(&mut |finding| findings.push(finding));
        assert_eq!(end, Ok(End::Finished));
        let rules: Vec<_> = findings.iter().map(|finding| finding.rule).collect();
        assert_eq!(
            rules,
            if is_missed { vec![Rule::S5] } else { vec![] },
            "{runs:?}"
        );
    }
}

#[test]
fn every_rule_has_advice() {
    for rule in (1..=24)
        .map(|n| format!("O{n}"))
        .chain((1..=5).map(|n| format!("S{n}")))
    {
        let rule: Rule = serde_json::from_value(rule.into()).unwrap();
        assert!(rule.advice().len() > 20, "{rule}");
    }
}

proptest! {
    /// By the protocol, the verifier is the table.
    #[test]
    fn exactly_is_as_the_table_says(events in prop::collection::vec(any_event(), 0..40)) {
        let mut table = Table::default();
        let expected = events.iter().find_map(|event| table.check(event).err());
        let judged = with(Verification::Protocol, &events);
        prop_assert_eq!(judged.refused.map(|violation| violation.rule), expected);
        prop_assert_eq!(judged.findings, vec![]);
    }

    /// Leniently, no stream stops, and what is wrong leaves no trace: without it the same is known.
    #[test]
    fn leniently_nothing_stops_and_what_is_dropped_leaves_no_trace(
        events in prop::collection::vec(any_event(), 0..60),
    ) {
        let judged = with(Verification::Lenient, &events);
        prop_assert_eq!(&judged.refused, &None);
        let again = with(Verification::Lenient, &judged.taken);
        prop_assert_eq!(again.verifier.order(), judged.verifier.order());
        prop_assert_eq!(again.taken.len(), judged.taken.len(), "what was taken is taken again");
        let dropped = |findings: &[Finding]| {
            findings.iter().filter(|finding| finding.severity == Severity::Dropped).count()
        };
        prop_assert_eq!(dropped(&judged.findings), events.len() - judged.taken.len());
        // Nothing that was taken needs what was dropped: the reducer finds every message and call.
        let mut transcript = Transcript::default();
        for json in &judged.taken {
            let event = event(json);
            let _ = transcript.apply(EventRef::from(&event));
        }
        let is_running = judged.verifier.order().phase() == Phase::Active;
        prop_assert!(is_running || judged.verifier.order().open_items().is_empty());
    }

    /// I4: a snapshot in mid-stream changes nothing.
    #[test]
    fn i4_a_snapshot_is_the_same_verifier(
        events in prop::collection::vec(any_event(), 0..40),
        at in any::<prop::sample::Index>(),
        lenient in any::<bool>(),
    ) {
        let verification = if lenient { Verification::Lenient } else { Verification::Protocol };
        let (left, right) = events.split_at(at.index(events.len() + 1));
        let verifier = Verifier::new(verification, ExtraRules::Warn).requested("t".into(), "r".into());
        let before = judge(verifier, left).verifier;
        let text = serde_json::to_string(&before).unwrap();
        let restored: Verifier = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&restored, &before);
        let (one, other) = (judge(restored, right), judge(before, right));
        prop_assert_eq!(one.findings, other.findings);
        prop_assert_eq!(one.verifier, other.verifier);
    }
}
