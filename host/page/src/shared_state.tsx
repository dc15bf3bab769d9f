// The state that the session shares with its user: what the model's calls of `change_state` have made of it.
import { computed } from "@preact/signals";
import { turns } from "./session";
import { visible } from "./visible";

interface Change {
  op: "add" | "replace" | "remove";
  path: string;
  value?: unknown;
}

type Node = Record<string, unknown> | unknown[];

/** A JSON Patch of the three kinds that the tool takes. The server took it, so it fits; what does not is left out. */
function applied(state: unknown, { op, path, value }: Change): unknown {
  const steps = path.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = steps.pop();
  if (last === undefined) return op === "remove" ? {} : value;
  const next = structuredClone(state);
  let at: unknown = next;
  for (const step of steps) at = typeof at === "object" && at !== null && Object.hasOwn(at, step) ? (at as Record<string, unknown>)[step] : undefined;
  if (typeof at !== "object" || at === null) return state;
  const node = at as Node;
  if (Array.isArray(node)) {
    const index = last === "-" ? node.length : Number(last);
    if (op === "add") node.splice(index, 0, value);
    else if (op === "replace") node[index] = value;
    else node.splice(index, 1);
  } else if (op === "remove") {
    delete node[last];
  } else {
    // A key such as `__proto__` is one like all others.
    Object.defineProperty(node, last, { value, writable: true, enumerable: true, configurable: true });
  }
  return next;
}

const state = computed(() => {
  const calls = turns.value.flatMap(({ messages }) => messages).flatMap((message) => message.calls);
  let now: unknown = {};
  for (const { name, status, args } of calls) {
    if (name !== "change_state" || status !== "completed") continue;
    try {
      const { changes } = JSON.parse(args) as { changes: Change[] };
      now = changes.reduce(applied, now);
    } catch {
      // The server took it, and knows how to read it.
    }
  }
  return now;
});

export function SharedState() {
  const now = state.value;
  if (typeof now === "object" && now !== null && Object.keys(now).length === 0) return null;
  return (
    <details class="shared-state" open>
      <summary>State</summary>
      <pre class="data" dir="ltr" tabIndex={0} role="region" aria-label="The state that the model shares with you">
        {visible(JSON.stringify(now, null, 2))}
      </pre>
    </details>
  );
}
