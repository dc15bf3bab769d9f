// Text that decides something (what a tool is given, what it is called, what came of it) is shown character by
// character: a mark that hides, or that turns the order of others round, is shown by its number.

const MARKS =
  // Controls but tab and line feed; marks of direction and width; what joins where there is nothing to join; tags.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]|(?<![^\0-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\0-\x7f])/gu;

function numberOf(mark: string): string {
  return `U+${mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** As plain text, for where there is no room for more. */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(MARKS, (mark) => `⟨${numberOf(mark)}⟩`);
}

/** The same, with the numbers set apart from what is text. */
export function Visible({ text }: { text: string }) {
  const plain = text.replaceAll("\r\n", "\n");
  const parts: preact.ComponentChildren[] = [];
  let from = 0;
  for (const { 0: mark, index } of plain.matchAll(MARKS)) {
    parts.push(
      plain.slice(from, index),
      <span key={index} class="mark">
        {numberOf(mark)}
      </span>,
    );
    from = index + mark.length;
  }
  parts.push(plain.slice(from));
  return <>{parts}</>;
}
