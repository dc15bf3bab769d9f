// What the parts of the inspector have in common: times, numbers, and data to read and copy.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { copy } from "../copy";
import { Visible } from "../visible";

/** A stretch of time in the unit that it is read in. */
export function duration(milliseconds: number | null): string {
  if (milliseconds === null) return "–";
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(2)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

const NUMBER = new Intl.NumberFormat("en");

export function count(value: number | null): string {
  return value === null ? "–" : NUMBER.format(value);
}

/** An amount of US dollars, to three digits where it is less than a cent. */
export function dollars(amount: number | null): string {
  if (amount === null) return "–";
  return `$${amount === 0 || amount >= 0.01 ? amount.toFixed(amount >= 1 ? 2 : 4) : Number(amount.toPrecision(3))}`;
}

export function pretty(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

export function Copy({ text, label = "Copy" }: { text: () => string; label?: string }) {
  const [words, setWords] = useState(label);
  return (
    <button
      type="button"
      class="button small"
      onClick={() => {
        void copy(text()).then((isDone) => {
          setWords(isDone ? "Copied" : "Cannot copy");
          setTimeout(() => setWords(label), 1_500);
        });
      }}
    >
      {words}
    </button>
  );
}

/** Something that is one line until it is opened. */
export function Fold({ summary, value, children }: { summary: ComponentChildren; value: unknown; children?: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && (
        <div class="fold-body">
          {children}
          <Copy text={() => pretty(value)} />
          <pre class="data" dir="ltr" tabIndex={0} role="region" aria-label="Data">
            <Visible text={pretty(value)} />
          </pre>
        </div>
      )}
    </details>
  );
}

export function Nothing({ children }: { children: ComponentChildren }) {
  return <p class="nothing">{children}</p>;
}

/** Gives the user a file. */
export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
