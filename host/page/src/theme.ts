// Light or dark: as the system has it, or as the user wants it.
import { effect, signal } from "@preact/signals";
import { ofBrowser } from "./storage";

export type Theme = "system" | "light" | "dark";

const THEMES: Theme[] = ["system", "light", "dark"];
const NAME = "stepwell.theme";

export const theme = signal<Theme>(known(ofBrowser.get(NAME)));

function known(name: string | null): Theme {
  return THEMES.find((theme) => theme === name) ?? "system";
}

export function setTheme(next: Theme): void {
  theme.value = next;
  if (next === "system") ofBrowser.remove(NAME);
  else ofBrowser.set(NAME, next);
}

export function nextTheme(): void {
  setTheme(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!);
}

// Another tab has another one now.
addEventListener("storage", ({ key, newValue }) => {
  if (key === NAME) theme.value = known(newValue);
});

/** What is there for the dark alone counts always, never, or as the system has it. */
const MEDIA: Record<Theme, string> = { system: "(prefers-color-scheme: dark)", light: "not all", dark: "all" };

effect(() => {
  const now = theme.value;
  for (const link of document.querySelectorAll<HTMLLinkElement | HTMLMetaElement>("[data-dark]")) link.media = MEDIA[now];
  document.documentElement.style.colorScheme = now === "system" ? "" : now;
});
