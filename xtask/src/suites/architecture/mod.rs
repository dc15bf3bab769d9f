//! The order of the modules, as ARCHITECTURE.md has it: each uses those above it.

mod imports;
mod order;

use super::Suite;
use crate::{context::Context, log::Log};
use anyhow::{Context as _, bail, ensure};
use imports::Sources;
use order::Order;
use std::{collections::BTreeSet, fs};

pub(super) const SUITE: Suite = Suite {
    name: "architecture",
    about: "the core's modules use only those that stand above them in ARCHITECTURE.md",
    run: check,
};

const DOCUMENT: &str = "ARCHITECTURE.md";
const CRATE: &str = "core/src";

pub(crate) fn check(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let read = |name: &str| fs::read_to_string(context.root.join(name)).ok();
    let (faults, seen) = look(&read)?;
    for line in seen {
        log.say(&line)?;
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

/// What is wrong, and a line about each table.
fn look(read: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let document = read(DOCUMENT).with_context(|| format!("cannot read {DOCUMENT}"))?;
    let orders = Order::all(&document, CRATE);
    ensure!(
        orders.iter().any(|order| order.module.is_empty()),
        "{DOCUMENT} has no table that begins with `| module of `{CRATE}` |`"
    );
    let sources = Sources::read(read, CRATE)?;
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    for order in &orders {
        let arrows = arrows(order, &sources, &mut faults);
        for (from, to) in &order.exceptions {
            if !arrows.contains(&(from, to)) {
                faults.push(format!(
                    "{DOCUMENT}: `{from}` looks down at `{to}` no more: take the exception out"
                ));
            }
        }
        seen.push(format!(
            "{}: {} modules, {} uses of one by another, in circles: {}",
            order.folder,
            order.rows.iter().map(Vec::len).sum::<usize>(),
            arrows.len(),
            in_circles(&arrows)
        ));
    }
    Ok((faults, seen))
}

/// Which module of a table uses which.
fn arrows<'s>(
    order: &Order,
    sources: &'s Sources,
    faults: &mut Vec<String>,
) -> BTreeSet<(&'s str, &'s str)> {
    let folder = &order.folder;
    let children: BTreeSet<_> = sources.children(&order.module).collect();
    for name in &children {
        if order.rank(name).is_none() {
            faults.push(format!(
                "{DOCUMENT}: the table of `{folder}` has no `{name}`: put it in below all that it uses"
            ));
        }
    }
    for name in order.rows.iter().flatten() {
        if !children.contains(name.as_str()) {
            faults.push(format!(
                "{DOCUMENT}: there is no `{name}` in `{folder}`: take it out of the table"
            ));
        }
    }
    let mut arrows = BTreeSet::new();
    for import in &sources.imports {
        let Some([from, ..]) = import.from.strip_prefix(&*order.module) else {
            continue;
        };
        let Some(below) = import.to.strip_prefix(&*order.module) else {
            continue;
        };
        let place = format!("{}:{}", import.file, import.line);
        let Some(to) = below.first().filter(|to| children.contains(to.as_str())) else {
            faults.push(format!(
                "{place}: {} does not say which module of `{folder}` it means: name the one that has it",
                import.written
            ));
            continue;
        };
        if from == to {
            continue;
        }
        arrows.insert((from.as_str(), to.as_str()));
        let (Some(own), Some(other)) = (order.rank(from), order.rank(to)) else {
            continue; // said above
        };
        let excepted = order.exceptions.contains(&(from.clone(), to.clone()));
        if own <= other && !excepted {
            let stands = if own == other { "beside" } else { "below" };
            faults.push(format!(
                "{place}: `{from}` uses {}, and `{to}` stands {stands} it in {DOCUMENT}: move what both need above \
                 `{from}`, or let `{to}` hand it in",
                import.written
            ));
        }
    }
    arrows
}

/// How many modules use themselves by way of others.
fn in_circles(arrows: &BTreeSet<(&str, &str)>) -> usize {
    let mut reached = arrows.clone();
    loop {
        let further: BTreeSet<_> = reached
            .iter()
            .flat_map(|(from, by)| {
                let next = arrows.iter().filter(move |(start, _)| start == by);
                next.map(move |(_, to)| (*from, *to))
            })
            .filter(|way| !reached.contains(way))
            .collect();
        if further.is_empty() {
            break;
        }
        reached.extend(further);
    }
    reached.iter().filter(|(from, to)| from == to).count()
}

#[cfg(test)]
mod tests {
    use super::{look, *};
    use std::path::Path;

    const TABLES: &str = "\
Each uses those above it. There is one exception: `high` looks down at\n`low`, for its names.

| module of `core/src` | what it does |
|---|---|
| `base` | all need `it` |
| `high` | |
| `low`, `side` | |

Then:

| module of `core/src/low` | what it does |
|---|---|
| `data` | |
| `work` | |
";

    fn faults(files: &[(&str, &str)]) -> Vec<String> {
        let base = [
            (DOCUMENT, TABLES),
            (
                "core/src/lib.rs",
                "mod base; mod high; pub mod low; mod side; pub use low::Data; pub use base::*;",
            ),
            ("core/src/base.rs", ""),
            ("core/src/high.rs", "use crate::low::data::Data;"),
            (
                "core/src/low/mod.rs",
                "mod data; mod work; pub use data::Data;",
            ),
            ("core/src/low/data.rs", ""),
            ("core/src/low/work.rs", "use super::data::Data;"),
            ("core/src/side.rs", ""),
        ];
        let read = |name: &str| {
            let found = files.iter().chain(&base).find(|(file, _)| *file == name);
            found.map(|(_, text)| (*text).to_owned())
        };
        look(&read).unwrap().0
    }

    #[test]
    fn what_uses_those_above_it_is_sound() {
        assert_eq!(faults(&[]), [""; 0]);
    }

    #[test]
    fn a_use_of_what_stands_below_or_beside_is_found_however_it_is_written() {
        for (file, text, found) in [
            (
                "core/src/base.rs",
                "\nuse std::fmt;\nuse crate::{high::{self, A}, low as l};",
                &[
                    "core/src/base.rs:3: `base` uses crate::high, and `high` stands below it",
                    "core/src/base.rs:3: `base` uses crate::high::A, and `high` stands below it",
                    "core/src/base.rs:3: `base` uses crate::low, and `low` stands below it",
                ][..],
            ),
            (
                "core/src/base.rs",
                "fn f() {\n let x = crate::side::f::<u8>(1);\n}",
                &["core/src/base.rs:2: `base` uses crate::side::f, and `side` stands below it"],
            ),
            (
                "core/src/base.rs",
                "mod inner { use super::super::high::A; }",
                &[
                    "core/src/base.rs:1: `base` uses super::super::high::A, and `high` stands below it",
                ],
            ),
            (
                "core/src/base.rs",
                "m!(x, crate::high::A);",
                &["core/src/base.rs:1: `base` uses crate::high::A, and `high` stands below it"],
            ),
            (
                "core/src/base.rs",
                "struct A { #[serde(with = \"crate::high::as_text\")] a: u8 }",
                &[
                    "core/src/base.rs:1: `base` uses crate::high::as_text, and `high` stands below it",
                ],
            ),
            // By the name under which the crate, or the module itself, gives it out.
            (
                "core/src/base.rs",
                "use crate::Data;",
                &["core/src/base.rs:1: `base` uses crate::Data, and `low` stands below it"],
            ),
            (
                "core/src/side.rs",
                "use crate::low::Data;",
                &["core/src/side.rs:1: `side` uses crate::low::Data, and `low` stands beside it"],
            ),
            (
                "core/src/low/data.rs",
                "use crate::low::work::Work;",
                &[
                    "core/src/low/data.rs:1: `data` uses crate::low::work::Work, and `work` stands below it",
                ],
            ),
        ] {
            let faults = faults(&[(file, text)]);
            assert_eq!(faults.len(), found.len(), "{text}: {faults:#?}");
            for (fault, found) in faults.iter().zip(found) {
                assert!(fault.starts_with(found), "{fault}");
            }
        }
    }

    #[test]
    fn tests_visibility_and_what_the_crate_has_of_a_module_above_are_no_faults() {
        for text in [
            "#[cfg(test)]\nmod tests { use crate::low::Data; }",
            "#[cfg(test)]\nuse crate::{low::Data};\nuse std::fmt;",
            "#[cfg(test)]\n#[allow(unused)]\nfn f() { crate::low::f() }",
            "pub(crate) struct A; pub(in crate::base) struct B;",
            "// crate::low::Data\n/// [`A`](crate::low::Data)\nstruct C(&'static str);",
        ] {
            assert_eq!(faults(&[("core/src/base.rs", text)]), [""; 0], "{text}");
        }
        assert_eq!(faults(&[("core/src/side.rs", "use crate::Id;")]), [""; 0]);
    }

    #[test]
    fn what_does_not_say_which_module_is_a_fault() {
        for text in [
            "use super::*;",
            "use crate::low;",
            "use crate::low::Nowhere;",
        ] {
            let faults = faults(&[("core/src/low/work.rs", text)]);
            assert_eq!(faults.len(), 1, "{text}: {faults:?}");
            assert!(
                faults[0].contains("does not say which module"),
                "{faults:?}"
            );
        }
    }

    #[test]
    fn the_tables_name_every_module_and_no_other_and_no_idle_exception() {
        let lib = "mod base; mod high; mod low; mod new;";
        let found = faults(&[
            ("core/src/lib.rs", lib),
            ("core/src/new.rs", ""),
            ("core/src/high.rs", ""),
        ]);
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md: the table of `core/src` has no `new`: put it in below all that it uses",
                "ARCHITECTURE.md: there is no `side` in `core/src`: take it out of the table",
                "ARCHITECTURE.md: `high` looks down at `low` no more: take the exception out",
            ]
        );
    }

    #[test]
    fn circles_are_counted() {
        let arrows = BTreeSet::from([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]);
        assert_eq!(in_circles(&arrows), 2);
    }

    /// In the sources as they are, at both ends of each table.
    #[test]
    fn an_arrow_that_is_planted_in_the_core_is_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (file, line, fault) in [
            (
                "core/src/wire/error.rs",
                "use crate::session::TurnTree;",
                "`wire` uses crate::session::TurnTree, and `session` stands below it",
            ),
            (
                "core/src/run/protocol/call.rs",
                "use crate::RunMachine;",
                "`protocol` uses crate::RunMachine, and `machine` stands below it",
            ),
            (
                "core/src/run/hop/mod.rs",
                "use super::Completed;",
                "`hop` uses super::Completed, and `states` stands below it",
            ),
        ] {
            let planted = |name: &str| {
                let text = fs::read_to_string(root.join(name)).ok()?;
                Some(if name == file {
                    format!("{line}\n{text}")
                } else {
                    text
                })
            };
            let faults = look(&planted).unwrap().0;
            assert_eq!(faults.len(), 1, "{faults:#?}");
            assert!(
                faults[0].starts_with(&format!("{file}:1: {fault}")),
                "{faults:?}"
            );
        }
    }
}
