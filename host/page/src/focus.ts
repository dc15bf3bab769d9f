/** To where the user writes; but on a phone that would open the keyboard over what they read. */
export function toComposer(): void {
  if (matchMedia("(pointer: fine)").matches) document.getElementById("composer")?.focus();
}
