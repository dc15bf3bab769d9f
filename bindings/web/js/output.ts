// Answers of a type of the app.

import { misuse } from "./error.js";
import type { ArgumentsChange, Json, OutputType } from "./types.js";

/**
 * A type of a schema library that follows Standard Schema and Standard JSON Schema, as those of Zod do from 4.2 on
 * (https://standardschema.dev). Its JSON Schema is sent to the model, and `validate` reads the answer.
 */
export interface StandardSchema<T> {
  readonly "~standard": {
    validate(value: unknown): StandardResult<T> | Promise<StandardResult<T>>;
    readonly types?: { readonly output: T } | undefined;
    readonly jsonSchema?: { input(options: { target: "draft-2020-12" }): Record<string, unknown> } | undefined;
  };
}

/** The result of Standard Schema's `validate`. */
export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }[] };

/**
 * The type of an answer by its JSON Schema. `parse` reads the answer; its exception is the model's reason to answer
 * again.
 */
export interface JsonOutput<T> extends Omit<OutputType, "decodedByHost"> {
  parse?: (value: Json) => T | Promise<T>;
}

/** The type of an answer. */
export type Output<T> = StandardSchema<T> | JsonOutput<T>;

/** The known part of a value while it streams: what is there is final, except for the end of a text. */
export type DeepPartial<T> = T extends (infer Element)[]
  ? DeepPartial<Element>[]
  : T extends object
    ? { [Name in keyof T]?: DeepPartial<T[Name]> }
    : T;

/** The schema for the model, and the function that reads the answer. @internal */
export interface Read<T> {
  asked: OutputType;
  read(value: Json): T | Promise<T>;
}

/** Throws if the type has no schema. @internal */
export function outputOf<T>(output: Output<T>): Read<T> {
  if (!("~standard" in output)) {
    const { parse, ...asked } = output;
    return { asked: { ...asked, decodedByHost: parse !== undefined }, read: parse ?? ((value) => value as T) };
  }
  const schema = jsonSchemaOf(output, "of the answer");
  const title = typeof schema.title === "string" ? schema.title.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64) : "";
  return { asked: { name: title || "Answer", schema, decodedByHost: true }, read: (value) => readBy(output, value) };
}

/** The JSON Schema of a type. Throws if the type does not tell it. @internal */
export function jsonSchemaOf({ "~standard": { jsonSchema } }: StandardSchema<unknown>, what: string): OutputType["schema"] {
  if (!jsonSchema) {
    throw misuse(`the type ${what} does not tell its JSON Schema`, "take a library that follows Standard JSON Schema, or give the JSON Schema itself");
  }
  const { $schema: _, ...schema } = jsonSchema.input({ target: "draft-2020-12" });
  return schema as OutputType["schema"];
}

/** Reads a value by its type. Throws the type's reasons against it. @internal */
export async function readBy<T>({ "~standard": standard }: StandardSchema<T>, value: unknown): Promise<T> {
  const result = await standard.validate(value);
  if (result.issues) throw new TypeError(result.issues.map(inWords).join("; "));
  return result.value;
}

type Issue = Extract<StandardResult<unknown>, { issues: readonly unknown[] }>["issues"][number];

function inWords({ message, path = [] }: Issue): string {
  const names = path.map((part) => String(typeof part === "object" ? part.key : part));
  return names.length === 0 ? message : `${message} (at ${names.join(".")})`;
}

/** Applies a change of its stream to the value, in place. @internal */
export function changed(value: Json, change: ArgumentsChange): Json {
  if (change.op === "end") return value;
  // In a box, so that the whole value is a member too.
  const box: Json = { value };
  const names = `/value${change.path}`.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = names.pop()!;
  const around = names.reduce((inside: any, name) => inside[name], box);
  around[last] = change.op === "append" ? around[last] + change.text : change.value;
  return box.value as Json;
}
