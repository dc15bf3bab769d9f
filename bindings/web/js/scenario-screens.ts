// The chat screens of a scenario's runs.

import { ChatReducer } from "./chat-reducer.js";
import type { ChatMessage, ChatPart } from "./chat-state.js";
import type { RunMachine } from "./machine.js";
import type { Fields } from "./scenario-host.js";
import type { Message, Outputs } from "./types.js";

/** The screens, by the names of their runs. */
export class Screens {
  readonly #screens = new Map<string, ChatReducer>();

  /** Begins the screen of a run on a history. */
  begin(name: string, messages: Message[]): void {
    this.#screens.get(name)?.free();
    this.#screens.set(name, new ChatReducer({ messages }));
  }

  #screen(name: string): ChatReducer {
    if (!this.#screens.has(name)) this.begin(name, []);
    return this.#screens.get(name)!;
  }

  /** Notes an action of the app that the run took. */
  act(name: string, step: Fields, nowMs: number): void {
    const screen = this.#screen(name);
    switch (step.input) {
      case "start": {
        const { run_id: id, say: text, message } = step;
        screen.begin(id, typeof text === "string" ? { id: `${id}-user`, role: "user", content: text } : message, nowMs);
        break;
      }
      case "steer":
        screen.steer({ id: step.message_id, role: "user", content: step.say });
        break;
    }
  }

  resume(name: string): void {
    this.#screen(name).resume();
  }

  /** Notes the outputs of a run. */
  take(name: string, came: Outputs[], nowMs: number): void {
    const screen = this.#screen(name);
    for (const { events } of came) screen.apply(events, nowMs);
  }

  /** What a screen shows, by the name of its run. */
  shown(name: string, run: RunMachine): [string, Fields][] {
    const screen = this.#screens.get(name);
    if (!screen) return [];
    screen.setUsage(run.usage);
    const { status, pending, interrupts, problem, messages } = screen.state;
    const ids = [...pending, ...interrupts].map(({ id }) => id);
    const waits = ids.length > 0 && { pending: ids };
    return [[name, { status, ...waits, ...(problem && { problem: problem.kind }), lines: messages.flatMap(lines), digest: screen.digest() }]];
  }

  free(): void {
    for (const screen of this.#screens.values()) screen.free();
  }
}

const text = (content: string | readonly Fields[]): string =>
  typeof content === "string" ? content : content.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n");

/** The parts of a message in a line each. */
function lines({ role, parts, cut }: ChatMessage): string[] {
  const line = (part: ChatPart): string => {
    switch (part.type) {
      case "text":
        return part.text;
      case "reasoning":
        return `(reasoning) ${part.text}`;
      case "tool": {
        const { label, status, result, failure } = part.card;
        const said = result === undefined ? failure : text(result);
        return `[${label} ${status}${said === undefined ? "" : `: ${said}`}]`;
      }
      case "media":
        return `[${part.media.type}]`;
      case "activity":
        return `[${part.activityType}]`;
    }
  };
  return [...parts.map((part) => `${role}: ${line(part)}`), ...(cut ? [`${role}: (cut)`] : [])];
}
