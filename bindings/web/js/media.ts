// Parts of a message or of a tool's result that are more than text: pictures, sound, video, documents.

import { misuse, wrong } from "./error.js";
import { loaded } from "./module.js";
import { mediaPart } from "./session.js";
import type { Json, MediaKind, Part, UserMessage } from "./types.js";

/**
 * A path (under Node) or an address (`https://…`, `data:…`), a `URL`, bytes, or a `Blob`, such as the `File` of an input
 * element.
 */
export type Media = string | URL | Blob | ArrayBuffer | Uint8Array;

/** Options of the source: its media type, if that should not be detected from the first bytes or the name. */
export interface MediaOptions {
  mediaType?: string;
  /** The name of bytes. */
  name?: string;
}

/** A part of a user's message, or of a tool's result: `image`, `audio`, `video`, `document` and `file` make one. */
export class ContentPart {
  constructor(part: Part) {
    Object.assign(this, part);
  }
}

export interface ContentPart {
  type: MediaKind | "text";
}

/** A text, or a part: one of `image` and the like, or AG-UI's. */
export type Content = string | ContentPart | Part;

/**
 * A picture, for a prompt or as a tool's result. A file is read at once; the provider fetches what is at an
 * address. Throws a `StepwellError` for a source that is empty, of no known type or no picture, and for an address that
 * cannot be fetched.
 */
export function image(source: Media, options?: MediaOptions): Promise<ContentPart> {
  return made("image", source, options);
}

/** Sound; see `image`. */
export function audio(source: Media, options?: MediaOptions): Promise<ContentPart> {
  return made("audio", source, options);
}

/** A video; see `image`. */
export function video(source: Media, options?: MediaOptions): Promise<ContentPart> {
  return made("video", source, options);
}

/** A document: a PDF file, a text, or any other type that the provider reads; see `image`. */
export function document(source: Media, options?: MediaOptions): Promise<ContentPart> {
  return made("document", source, options);
}

/**
 * A file in a provider's store, by its id there. `provider` names the owner of the id, so that no other provider is
 * asked for the file, and `mediaType` its type: `image/png` makes it a picture; without a type it is a document.
 */
export function file(id: string, options: { provider?: string; mediaType?: string } = {}): ContentPart {
  loaded();
  return new ContentPart(mediaPart({ file: id, ...options }));
}

/** Converts them to AG-UI's parts. With parts, an empty text is left out. */
export const partsOf = (contents: readonly Content[]): Part[] => contents.filter((content) => content !== "").map(partOf);

function partOf(content: Content): Part {
  if (typeof content === "string") return { type: "text", text: content };
  if (content instanceof Promise) throw wrong("a part of the content is a promise", "`await` what `image` and the like make");
  if (typeof content?.type !== "string") throw wrong(`a part of the content is ${kindOf(content)}`, "give a text, or what `image` and the like make");
  return { ...content } as Part;
}

/**
 * What the user says: a text, a part of media, texts and parts in order, or an AG-UI message. With `null` the turn
 * continues from a history whose last message the model should answer.
 */
export type Prompt = string | ContentPart | readonly Content[] | UserMessage | null;

/** Converts it to an AG-UI message, with the id of a turn's message or of a steering one. */
export function messageOf(id: string, said: Exclude<Prompt, null>): UserMessage {
  if (typeof said === "object" && said !== null && "role" in said) return said as UserMessage;
  const content = typeof said === "string" ? said : partsOf(Array.isArray(said) ? said : [said as ContentPart]);
  return { id: `${id}-user`, role: "user", content };
}

/** Describes a value in words. */
const kindOf = (value: unknown): string => (value === null ? "null" : typeof value === "object" ? "an object without a `type`" : `of the type ${typeof value}`);

async function made(kind: MediaKind, source: Media, { mediaType, name }: MediaOptions = {}): Promise<ContentPart> {
  loaded();
  const given = { kind, ...(mediaType && { mediaType }), ...(name && { name }) };
  if (typeof source === "string" || source instanceof URL) {
    const place = String(source);
    const isUrl = /^([a-z][a-z\d+.-]+:\/\/|data:)/i.test(place);
    if (isUrl && !place.startsWith("file:")) return new ContentPart(mediaPart({ ...given, url: place }));
    return new ContentPart(mediaPart({ ...given, name: name ?? place.split(/[\\/]/).pop()! }, await read(place)));
  }
  if (!(source instanceof Blob)) {
    const bytes = source instanceof Uint8Array ? source : new Uint8Array(source);
    return new ContentPart(mediaPart(given, bytes));
  }
  const called = name ?? (source as { name?: string }).name;
  const bytes = new Uint8Array(await source.arrayBuffer());
  const type = mediaType ?? source.type;
  return new ContentPart(mediaPart({ kind, ...(type && { mediaType: type }), ...(called && { name: called }) }, bytes));
}

async function read(path: string): Promise<Uint8Array> {
  const node = (globalThis as { process?: { getBuiltinModule?(name: string): any } }).process?.getBuiltinModule?.("node:fs/promises");
  if (!node) throw misuse(`there are no files here to read \`${path}\` from`, "give an address, bytes or a `Blob`");
  try {
    return await node.readFile(path.startsWith("file:") ? new URL(path) : path);
  } catch (error) {
    throw misuse(`\`${path}\` cannot be read: ${error}`, "look whether it is there, and a file");
  }
}
