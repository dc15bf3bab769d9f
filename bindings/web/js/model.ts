// Which model, and where it is.

import type { CredentialSource } from "./credentials.js";
import { wrong } from "./error.js";
import type { Provider, RunConfig } from "./types.js";

/** The name of a provider that Stepwell knows. */
export type KnownProvider =
  | "ag-ui"
  | "anthropic"
  | "azure"
  | "bedrock"
  | "cohere"
  | "fireworks"
  | "gemini"
  | "groq"
  | "mistral"
  | "nvidia"
  | "ollama"
  | "openai"
  | "openai-compatible"
  | "openrouter"
  | "together"
  | "vertex";

/** The variable of the environment in which a provider's key is looked for, on a server. */
const keyVariable = (provider: string): string => `${provider.toUpperCase().replaceAll("-", "_")}_API_KEY`;

/** How a model is reached. */
export interface ModelOptions {
  /**
   * The key, or a function that returns it for each request, for tokens that expire. On a server it is the provider's
   * usual variable of the environment (`OPENAI_API_KEY`, …) if left out, unless there is a `baseUrl`.
   */
  apiKey?: string | CredentialSource | undefined;
  /** The address of the API, instead of the provider's; a relative one (`/api/proxy`) is relative to the page. */
  baseUrl?: string | undefined;
  /** Which of the provider's APIs is used, such as `responses`; its usual one if left out. */
  api?: string | undefined;
  /** Additional headers of each request. */
  headers?: { [name: string]: string } | undefined;
  /**
   * Whether the provider makes the answers in the background: an answer goes on while nobody reads it, so it survives a
   * broken connection and a sleeping device, and is read on where it broke off. The provider stores the conversation and the
   * answer for a while. OpenAI's `responses` can do so, and is the API then if none is given.
   */
  background?: boolean | undefined;
}

/** A model and how it is reached: `openai("gpt-5-mini")` and the like make one. */
export interface Model extends ModelOptions {
  /** The provider's name. */
  readonly provider: Provider;
  /** The model's name; empty for an AG-UI agent. */
  readonly name: string;
}

/** A provider and a model in one text: `openai:gpt-5-mini`. */
export type ModelName = `${KnownProvider}:${string}` | (`${string}:${string}` & {});

/** A model of any provider: one that Stepwell knows, or a custom one of the agent's `providers`. */
export const model = (provider: Provider, name: string, options?: ModelOptions): Model => ({ ...options, provider, name });

/** A model of OpenAI. */
export const openai = (name: string, options?: ModelOptions): Model => model("openai", name, options);
/** A model by way of OpenRouter. */
export const openrouter = (name: string, options?: ModelOptions): Model => model("openrouter", name, options);
/** A model of Anthropic. */
export const anthropic = (name: string, options?: ModelOptions): Model => model("anthropic", name, options);
/** A model of Google. */
export const gemini = (name: string, options?: ModelOptions): Model => model("gemini", name, options);
/** A model of Mistral. */
export const mistral = (name: string, options?: ModelOptions): Model => model("mistral", name, options);
/** A model of Cohere. */
export const cohere = (name: string, options?: ModelOptions): Model => model("cohere", name, options);
/** A model at Groq. */
export const groq = (name: string, options?: ModelOptions): Model => model("groq", name, options);
/** A model at Together. */
export const together = (name: string, options?: ModelOptions): Model => model("together", name, options);
/** A model at Fireworks. */
export const fireworks = (name: string, options?: ModelOptions): Model => model("fireworks", name, options);
/** A model at NVIDIA. */
export const nvidia = (name: string, options?: ModelOptions): Model => model("nvidia", name, options);
/** A model of Ollama, on this machine if there is no `baseUrl`. */
export const ollama = (name: string, options?: ModelOptions): Model => model("ollama", name, options);
/** A model of any server with OpenAI's chat API. */
export const openaiCompatible = (name: string, options: ModelOptions & { baseUrl: string }): Model => model("openai-compatible", name, options);
/** An agent that speaks AG-UI, at this address: it has a model of its own. */
export const agUi = (baseUrl: string, options?: Omit<ModelOptions, "baseUrl" | "api">): Model => model("ag-ui", "", { ...options, baseUrl });

/** A model's part of a configuration, and the code that supplies its key. @internal */
export interface Reached {
  config: Pick<RunConfig, "provider" | "model" | "api" | "baseUrl" | "key" | "headers" | "credentials">;
  credentials: CredentialSource | undefined;
}

/** The variables of the environment; none in a page. */
const environment = (): { [name: string]: string | undefined } => {
  const { process } = globalThis as { process?: { env?: { [name: string]: string | undefined } } };
  return process?.env ?? {};
};

function modelOf(given: Model | string): Model {
  if (typeof given === "object" && given !== null && typeof given.provider === "string") return given;
  const [, provider, name] = (typeof given === "string" && /^([^:]+):(.+)$/s.exec(given)) || [];
  if (provider === undefined || name === undefined) throw wrong("`model` names no provider and model", "give one such as `openai:gpt-5-mini`");
  return { provider, name };
}

/** @internal */
export function reached(given: Model | string): Reached {
  const { provider, name, apiKey, baseUrl, api, headers, background } = modelOf(given);
  const credentials = typeof apiKey === "function" ? apiKey : undefined;
  const key = typeof apiKey === "function" ? undefined : (apiKey ?? (baseUrl === undefined ? environment()[keyVariable(provider)] : undefined));
  const config: Reached["config"] = {
    provider,
    model: name,
    ...(api !== undefined && { api }),
    ...(baseUrl !== undefined && { baseUrl }),
    ...(key !== undefined && { key }),
    ...(headers !== undefined && { headers }),
    ...(background && { resumption: "background" as const }),
    ...(credentials && { credentials: "host" as const }),
  };
  return { config, credentials };
}
