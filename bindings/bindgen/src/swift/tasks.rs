//! The helpers of uniffi that run an app's asynchronous code, written so that Swift 6 accepts them: they pass closures
//! that are not `Sendable` to a `Task`. See uniffi-rs issue 2929, which no release that can be pinned repairs. Their tasks
//! become those of the caller that began the turn, with its task-local values: `Caller.swift` of the package starts them.

use anyhow::{Context as _, ensure};

/// The beginning of each helper.
const HELPER: &str = "\nprivate func uniffiTraitInterfaceCallAsync";

/// The type that carries a closure into the task of its helper.
const CARRIED: &str = "
/// Carries a closure into the task of its helper, which alone calls it.
private struct UniffiCarried<Closure>: @unchecked Sendable {
    let call: Closure
}
";

/// Returns the generated source with the closures of each helper carried into its task.
///
/// # Errors
/// The source has no such helper, or one that is not as uniffi writes it.
pub(super) fn with_carried_closures(generated: &str) -> anyhow::Result<String> {
    let mut text = String::with_capacity(generated.len() + 2048);
    let mut rest = generated;
    let mut is_first = true;
    while let Some(start) = rest.find(HELPER) {
        let (before, helper) = rest.split_at(start);
        let end = helper.find("\n}\n").context("a helper has no end")?;
        text.push_str(before);
        if is_first {
            text.push_str(CARRIED);
            is_first = false;
        }
        text.push_str(&carrying(&helper[..end])?);
        rest = &helper[end..];
    }
    ensure!(!is_first, "there is no `{}`", HELPER.trim());
    text.push_str(rest);
    Ok(text)
}

/// One helper, with a carrier around each closure that its caller's task calls.
fn carrying(helper: &str) -> anyhow::Result<String> {
    let (head, body) = helper
        .split_once("    let task = Task {\n")
        .context("a helper starts no task")?;
    let (task, after) = body
        .split_once("\n    }\n")
        .context("a helper's task has no end")?;
    let closures: Vec<_> = head
        .lines()
        .filter_map(|line| line.trim_start().split_once(": @escaping "))
        .map(|(name, _)| name)
        .collect();
    ensure!(!closures.is_empty(), "a helper takes no closure");
    let mut carriers = String::new();
    let mut task = task.to_owned();
    for name in closures {
        let call = format!("{name}(");
        ensure!(task.contains(&call), "a helper's task does not call {name}");
        task = task.replace(&call, &format!("{name}.call("));
        carriers.push_str(&format!("    let {name} = UniffiCarried(call: {name})\n"));
    }
    Ok(format!(
        "{head}{carriers}    let task = taskOfCaller {{\n{task}\n    }}\n{after}"
    ))
}

#[cfg(test)]
mod tests {
    use super::with_carried_closures;

    const GENERATED: &str = "
private func uniffiTraitInterfaceCallAsync<T>(
    makeCall: @escaping () async throws -> T,
    handleSuccess: @escaping (T) -> (),
    droppedCallback: UnsafeMutablePointer<Dropped>
) {
    let task = Task {
        // Either `handleSuccess` or nothing.
        handleSuccess(try await makeCall())
    }
    insert(obj: task)
}

private func uniffiTraitInterfaceCallAsyncWithError<T, E>(
    makeCall: @escaping () async throws -> T,
    lowerError: @escaping (E) -> RustBuffer,
    droppedCallback: UnsafeMutablePointer<Dropped>
) {
    let task = Task {
        lowerError(try await makeCall())
    }
    insert(obj: task)
}
";

    #[test]
    fn every_closure_is_carried_into_its_task() {
        let text = with_carried_closures(GENERATED).unwrap();
        assert_eq!(text.matches("struct UniffiCarried<").count(), 1, "{text}");
        for expected in [
            ") {\n    let makeCall = UniffiCarried(call: makeCall)\n    let handleSuccess = UniffiCarried(call: handleSuccess)\n\
             \x20   let task = taskOfCaller {\n        // Either `handleSuccess` or nothing.\n\
             \x20       handleSuccess.call(try await makeCall.call())\n    }\n    insert(obj: task)\n}\n",
            "        lowerError.call(try await makeCall.call())\n    }\n    insert(obj: task)\n}\n",
        ] {
            assert!(text.contains(expected), "{expected}\n---\n{text}");
        }
    }

    #[test]
    fn helpers_of_another_form_are_refused() {
        let another_task = GENERATED.replace("let task = Task {", "let task = Task.detached {");
        assert!(with_carried_closures(&another_task).is_err());
        let another_call = GENERATED.replace("await makeCall()", "await makeCall .call()");
        assert!(with_carried_closures(&another_call).is_err());
        assert!(with_carried_closures("public func other() {\n}\n").is_err());
    }
}
