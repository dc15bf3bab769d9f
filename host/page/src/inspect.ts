// The inspector, as far as the page has it before anybody opens it: what it is to show, and how it is loaded.
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { problem } from "./session";

/** A turn of a session, or a journal from a file. */
export type Inspected = { thread: string; turn: string } | { name: string; text: string };

export const inspected = signal<Inspected | null>(null);
/** What shows it, once it is loaded. */
export const Inspector = signal<ComponentType<{ of: Inspected }> | null>(null);

/** Where its style is; the build says it. */
declare const INSPECTOR_STYLE: string;

let opener: Element | null = null;
let loading: Promise<void> | undefined;

async function load(): Promise<void> {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = INSPECTOR_STYLE;
  const isStyled = new Promise<void>((done, failed) => {
    style.onload = () => done();
    style.onerror = () => failed(new Error("its style is not there"));
  });
  document.head.append(style);
  const [module] = await Promise.all([import("./inspector/panel"), isStyled]);
  Inspector.value = module.Panel;
}

export async function inspect(what: Inspected): Promise<void> {
  opener ??= document.activeElement;
  try {
    await (loading ??= load());
    inspected.value = what;
  } catch {
    loading = undefined;
    opener = null;
    // The server may be away, or be another one by now.
    problem.value = "The inspector cannot be loaded. Load the page again, and then try once more.";
  }
}

export function closeInspector(): void {
  inspected.value = null;
  if (opener instanceof HTMLElement) opener.focus();
  opener = null;
}

/** How a journal begins, whoever wrote it. */
const HEAD = /^\s*\{"stepwell_journal":/;

export async function isJournal(file: File): Promise<boolean> {
  return HEAD.test(await file.slice(0, 64).text());
}

/** Plays a journal back that the user has as a file. */
export async function openJournal(file: File): Promise<void> {
  try {
    if (!(await isJournal(file))) throw new Error("it does not begin as a journal does");
    await inspect({ name: file.name, text: await file.text() });
  } catch (error) {
    problem.value = `${file.name} is no journal that can be played back: ${(error as Error).message}.`;
  }
}
