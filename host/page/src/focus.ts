/** To where the user writes; but on a phone that would open the keyboard over what they read. */
export function toComposer(): void {
  if (matchMedia("(pointer: fine)").matches) document.getElementById("composer")?.focus();
}

/** The first thing to answer with in the question that is asked. */
export function toQuestion(): void {
  document.querySelector<HTMLElement>(".question :is(button, input, select, textarea):not(:disabled)")?.focus();
}
