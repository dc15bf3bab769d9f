//! Partial arguments in fragments of 16 bytes: time for each fragment, and how it grows with the size.
//!
//! `cargo bench -p stepwell-core --bench partial [-- ROUNDS]`

mod support;

use serde_json::Value;
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};
use stepwell_core::tool::{PartialArguments, PartialState, parse_arguments};
use support::harness::{Asked, GROWTH_BAR, median};

const FRAGMENT: usize = 16;

type Shape = (&'static str, fn(usize) -> String);
type Way = (&'static str, fn(&[&str]) -> Duration);

const SHAPES: [Shape; 6] = [
    ("one text", |size| {
        filled("{\"text\":\"", size, "\"}", |out, _| {
            out.push_str(r#"let a = \"b\";\n    é "#);
        })
    }),
    ("numbers", |size| {
        filled("{\"list\":[0", size, "]}", |out, index| {
            let _ = write!(out, ",{}", index * 7);
        })
    }),
    ("members of one object", |size| {
        filled("{\"a\":0", size, "}", |out, index| {
            let _ = write!(out, ",\"key{index}\":\"v\"");
        })
    }),
    ("records", |size| {
        filled("{\"rows\":[0", size, "]}", |out, index| {
            let _ = write!(
                out,
                r#",{{"id":{index},"name":"row {index}","tags":["a","b"],"ok":true}}"#
            );
        })
    }),
    ("one key again and again", |size| {
        filled("{\"a\":0", size, "}", |out, _| out.push_str(",\"a\":[1]"))
    }),
    ("as deep as may be", |size| {
        filled("{\"a\":[0", size, "]}", |out, _| {
            out.push(',');
            out.push_str(&"[".repeat(125));
            out.push_str(&"]".repeat(125));
        })
    }),
];

fn filled(start: &str, size: usize, end: &str, more: impl Fn(&mut String, usize)) -> String {
    let mut text = start.to_owned();
    let mut index = 0;
    while text.len() < size {
        more(&mut text, index);
        index += 1;
    }
    text + end
}

fn fragments(text: &str) -> Vec<&str> {
    let mut fragments = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (fragment, more) = rest.split_at(
            (FRAGMENT..rest.len())
                .find(|&at| rest.is_char_boundary(at))
                .unwrap_or(rest.len()),
        );
        fragments.push(fragment);
        rest = more;
    }
    fragments
}

/// Only read.
fn read(fragments: &[&str]) -> Duration {
    let start = Instant::now();
    let mut arguments = PartialArguments::new();
    for fragment in fragments {
        arguments.push(black_box(fragment));
    }
    let time = start.elapsed();
    assert_eq!(arguments.state(), PartialState::Complete);
    time
}

/// Measures with a listener for every change.
fn heard(fragments: &[&str]) -> Duration {
    let start = Instant::now();
    let mut arguments = PartialArguments::new();
    for fragment in fragments {
        arguments.push_with(black_box(fragment), |change| {
            black_box(change);
        });
    }
    start.elapsed()
}

/// Measures with a view that every change is applied to.
fn shown(fragments: &[&str]) -> Duration {
    let start = Instant::now();
    let mut arguments = PartialArguments::new();
    let mut view = Value::Null;
    for fragment in fragments {
        arguments.push_with(black_box(fragment), |change| {
            let applied = change.apply(&mut view);
            debug_assert!(applied.is_ok());
        });
    }
    let time = start.elapsed();
    black_box(view);
    time
}

/// Measures, for comparison, the complete text parsed once by serde_json.
fn whole(fragments: &[&str]) -> Duration {
    let text = fragments.concat();
    let start = Instant::now();
    let value = parse_arguments(black_box(&text));
    let time = start.elapsed();
    assert!(value.is_ok());
    time
}

fn main() {
    let Asked {
        rounds, is_bench, ..
    } = Asked::with(9);
    let size = if is_bench { 1 << 20 } else { 1 << 12 };
    let mib = size as f64 / f64::from(1 << 20);
    println!(
        "medians of {rounds} rounds; growth is the time of 4 times the size, at most {GROWTH_BAR}"
    );
    println!(
        "{:<26}{:<8}{:>14}{:>14}{:>10}",
        format!("{FRAGMENT} bytes a fragment"),
        "",
        format!("{mib:.3} MiB, ns"),
        format!("{:.3} MiB, ns", 4.0 * mib),
        "growth"
    );
    for (name, shape) in SHAPES {
        let (small, large) = (shape(size), shape(4 * size));
        let (small, large) = (fragments(&small), fragments(&large));
        let ways: [Way; 4] = [
            ("read", read),
            ("heard", heard),
            ("shown", shown),
            ("whole", whole),
        ];
        for (way, run) in ways {
            let (mut each, mut each_large, mut growth) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..rounds {
                let (time, time_large) = (run(&small).as_secs_f64(), run(&large).as_secs_f64());
                each.push(time * 1e9 / small.len() as f64);
                each_large.push(time_large * 1e9 / large.len() as f64);
                growth.push(time_large / time);
            }
            let growth = median(growth);
            let verdict = if is_bench && growth > GROWTH_BAR {
                "  over the bar"
            } else {
                ""
            };
            println!(
                "{name:<26}{way:<8}{:>14.0}{:>14.0}{growth:>10.2}{verdict}",
                median(each),
                median(each_large)
            );
        }
    }
}
