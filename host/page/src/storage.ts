// What the browser keeps for the page. Where it keeps nothing, the page works without.

function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** What this tab keeps. */
export const ofTab = {
  get: (name: string): string | null => quietly(() => sessionStorage.getItem(name)) ?? null,
  set: (name: string, value: string): void => void quietly(() => sessionStorage.setItem(name, value)),
  remove: (name: string): void => void quietly(() => sessionStorage.removeItem(name)),
};
