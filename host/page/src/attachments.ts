// Files and pictures that the user sends with a message: chosen, pasted or dropped.
import { computed, signal } from "@preact/signals";
import { isJournal, openJournal } from "./inspect";
import { newId } from "./place";
import { server } from "./server";
import { problem } from "./session";
import { filePart, type Content, type ContentPart } from "./view";

export interface Attachment {
  id: string;
  name: string;
  part: ContentPart;
}

/** Those of the message that is being written. */
export const attachments = signal<Attachment[]>([]);

/** The most bytes of all of them: what is sent is a third longer, and a server takes 16 MiB by default. */
const MOST = 11 << 20;

/** A text of so many bytes still reads as one. */
const LONGEST_TEXT = 256 << 10;

const TEXT = /^(?:text\/|application\/(?:json|xml|toml|x-yaml|yaml|javascript|sql)$)|\+(?:json|xml)$/;
const TEXT_NAME = /\.(?:txt|md|csv|tsv|json|jsonl|toml|ya?ml|xml|html?|css|[jt]sx?|mjs|py|rs|go|java|kts?|swift|dart|c|h|cc|cpp|hpp|cs|rb|php|sh|sql|log|ini|diff|patch)$/i;

/** What the model takes, by the beginning of a type; texts it takes always. */
const kinds = computed((): [string, ContentPart["type"]][] => {
  const { image, audio, pdf } = server.value?.multimodal?.input ?? {};
  return [
    ...(image ? [["image/", "image"] as [string, string]] : []),
    ...(audio ? [["audio/", "audio"] as [string, string]] : []),
    ...(pdf ? [["application/pdf", "document"] as [string, string]] : []),
  ];
});

/** What a file chooser offers. */
export const accepted = computed(() => [...kinds.value.map(([type]) => (type.endsWith("/") ? `${type}*` : type)), "text/*", ".md", ".json", ".csv", ".toml", ".yaml"].join(","));

const sizeOf = ({ part }: Attachment): number => part.text?.length ?? part.source?.value.length ?? 0;

/** Takes files, wherever they come from: a journal is played back, the rest goes with the message. */
export async function take(files: Iterable<File>): Promise<void> {
  const refused: string[] = [];
  for (const file of files) {
    if (await isJournal(file)) {
      await openJournal(file);
      continue;
    }
    try {
      await attach(file);
    } catch (error) {
      refused.push(error instanceof Error ? error.message : String(error));
    }
  }
  if (refused.length > 0) problem.value = refused.join(" ");
}

async function attach(file: File): Promise<void> {
  const name = file.name || "pasted";
  const room = MOST - attachments.value.reduce((bytes, one) => bytes + sizeOf(one), 0);
  if (file.size > room) throw new Error(`${name} is too long: all that goes with a message has ${MOST >> 20} MB at most.`);
  const kind = kinds.value.find(([type]) => file.type.startsWith(type));
  let part: ContentPart;
  if (kind) {
    part = { type: kind[1], source: { type: "data", value: await base64(file), mimeType: file.type } };
  } else if (TEXT.test(file.type) || TEXT_NAME.test(name)) {
    if (file.size > LONGEST_TEXT) throw new Error(`${name} is too long: a text has ${LONGEST_TEXT >> 10} kB at most.`);
    part = filePart({ name, text: await file.text() });
  } else {
    throw new Error(`${name} cannot be sent: the model takes no ${file.type || "files of this kind"}.`);
  }
  attachments.value = [...attachments.value, { id: newId(), name, part }];
}

function base64(file: File): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => {
      const address = String(reader.result);
      done(address.slice(address.indexOf(",") + 1));
    };
    reader.onerror = () => failed(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

/** What is sent: the words alone, or with what goes with them. */
export function contentOf(text: string, all: Attachment[]): Content {
  if (all.length === 0) return text;
  const said = text === "" ? [] : [{ type: "text", text }];
  return [...said, ...all.map(({ part }) => part)];
}
