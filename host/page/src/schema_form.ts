// The form for a JSON Schema, where it is a simple one: a value, or a flat object of values.

/** One value. */
export type Field =
  | { kind: "text"; initial: string; minLength?: number; maxLength?: number }
  | { kind: "number"; initial: string; isInteger: boolean; min?: number; max?: number }
  | { kind: "choice"; initial: string; choices: Choice[] };

export interface Choice {
  label: string;
  value: unknown;
}

/** A field of an object. */
export interface Named {
  name: string;
  title: string;
  description?: string;
  isRequired: boolean;
  field: Field;
}

/** What the user is shown: one field, several, or none that fits, so that they write JSON. */
export type Form = { kind: "value"; field: Field } | { kind: "object"; fields: Named[] } | { kind: "json" };

type Schema = Record<string, unknown>;

/** Words that say more than a form shows. */
const BEYOND = ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentRequired", "dependentSchemas"];

export function formOf(schema: unknown): Form {
  if (!isObject(schema)) return { kind: "json" };
  const field = fieldOf(schema);
  if (field) return { kind: "value", field };
  const fields = fieldsOf(schema);
  return fields ? { kind: "object", fields } : { kind: "json" };
}

function fieldOf(schema: Schema): Field | null {
  if (BEYOND.some((word) => word in schema)) return null;
  const initial = "default" in schema ? textOf(schema.default) : "";
  if ("const" in schema) return isPlain(schema.const) ? choice([schema.const], textOf(schema.const)) : null;
  if (Array.isArray(schema.enum)) return schema.enum.length > 0 && schema.enum.every(isPlain) ? choice(schema.enum, initial) : null;
  switch (schema.type) {
    case "boolean":
      return choice([true, false], initial);
    case "string":
      return { kind: "text", initial, ...number(schema, "minLength"), ...number(schema, "maxLength") };
    case "number":
    case "integer": {
      const { minimum: min, maximum: max } = schema;
      return {
        kind: "number",
        initial,
        isInteger: schema.type === "integer",
        ...(typeof min === "number" && { min }),
        ...(typeof max === "number" && { max }),
      };
    }
    default:
      return null;
  }
}

function fieldsOf(schema: Schema): Named[] | null {
  const { properties, required = [] } = schema;
  if (schema.type !== "object" || !isObject(properties) || !Array.isArray(required)) return null;
  if (BEYOND.some((word) => word in schema) || required.some((name) => !Object.hasOwn(properties, name as string))) return null;
  const fields: Named[] = [];
  for (const [name, of] of Object.entries(properties)) {
    const field = isObject(of) ? fieldOf(of) : null;
    if (!field || !isObject(of)) return null;
    const title = typeof of.title === "string" && of.title !== "" ? of.title : name;
    const isRequired = required.includes(name);
    fields.push({ name, title, isRequired, field, ...(typeof of.description === "string" && { description: of.description }) });
  }
  return fields.length > 0 ? fields : null;
}

function choice(values: unknown[], initial: string): Field {
  const choices = values.map((value) => ({ label: value === true ? "Yes" : value === false ? "No" : textOf(value), value }));
  const at = values.findIndex((value) => textOf(value) === initial);
  return { kind: "choice", initial: at < 0 ? "" : String(at), choices };
}

/** What was typed or chosen, as a value; nothing where nothing was. */
function valueOf(field: Field, typed: string): unknown {
  switch (field.kind) {
    case "text":
      return typed;
    case "number":
      return typed.trim() === "" ? undefined : Number(typed);
    case "choice":
      return typed === "" ? undefined : field.choices[Number(typed)]?.value;
  }
}

/** The object of what was typed: what may be missing, and is empty, is left out. */
export function objectOf(fields: Named[], typed: Record<string, string>): Record<string, unknown> {
  const values = fields.map(({ name, field, isRequired }): [string, unknown] => {
    const words = typed[name] ?? "";
    return [name, words === "" && !isRequired ? undefined : valueOf(field, words)];
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlain(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function number(schema: Schema, word: "minLength" | "maxLength"): { [word]?: number } {
  const value = schema[word];
  return typeof value === "number" ? { [word]: value } : {};
}
