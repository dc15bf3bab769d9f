// Which session is shown: the part of the address after `#`, so that a reload and the history show the same.
import { signal } from "@preact/signals";

/** A session, and the last turn of the path that is shown; none is the one that began last. */
export interface Place {
  thread: string | null;
  turn: string | null;
}

export const place = signal<Place>(read());

function read(): Place {
  const [thread, turn] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  return { thread: thread || null, turn: turn || null };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

export function addressOf(thread: string | null, turn: string | null = null): string {
  const parts = [thread, turn].filter((part) => part !== null);
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

/** Goes to a session. `isShown`: what is there is on the page already. */
export function goTo(thread: string | null, turn: string | null, isShown = false): void {
  const address = addressOf(thread, turn);
  if (isShown) {
    // A session that was begun takes the place of the empty one.
    if (place.value.thread === null) history.replaceState(null, "", address);
    else if (location.hash !== address) history.pushState(null, "", address);
    place.value = { thread, turn };
  } else if (location.hash === address) {
    onMove();
  } else {
    location.hash = address;
  }
}

let onMove: () => void = () => {};

/** Calls back when the user goes elsewhere. */
export function watch(moved: () => void): void {
  onMove = () => {
    place.value = read();
    moved();
  };
  const compare = (): void => {
    const { thread, turn } = read();
    if (thread !== place.value.thread || turn !== place.value.turn) onMove();
  };
  // Browsers tell of some moves by the one, of some by the other, of some by both.
  addEventListener("hashchange", compare);
  addEventListener("popstate", compare);
}

/** An id that nobody else has. Pages over plain HTTP have no `crypto.randomUUID`. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
