// Copies a text, and says so.
import { announce } from "./announce";

const SAID_MS = 1_500;

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied.");
    return true;
  } catch {
    // Over plain HTTP a page may not write there.
    announce("It cannot be copied here.");
    return false;
  }
}

/** A button that copies, for a tree that is not drawn by Preact. */
export function copyButton(text: () => string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => {
    void copy(text()).then((isDone) => {
      button.textContent = isDone ? "Copied" : "Cannot copy";
      setTimeout(() => (button.textContent = "Copy"), SAID_MS);
    });
  });
  return button;
}
