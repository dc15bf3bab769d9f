// What the browser keeps for the page. Where it keeps nothing, the page works without.

function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

interface Kept {
  get(name: string): string | null;
  set(name: string, value: string): void;
  remove(name: string): void;
}

/** Where it is kept is asked for each time: a browser may refuse even that. */
const kept = (place: () => Storage): Kept => ({
  get: (name) => quietly(() => place().getItem(name)) ?? null,
  set: (name, value) => void quietly(() => place().setItem(name, value)),
  remove: (name) => void quietly(() => place().removeItem(name)),
});

/** What this tab keeps. */
export const ofTab = kept(() => sessionStorage);

/** What the browser keeps for all tabs. */
export const ofBrowser = kept(() => localStorage);
