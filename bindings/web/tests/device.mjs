// What the browser says of the device, as it is when an agent begins to follow it.

import { answer, clock, model, says } from "./agent.mjs";

/** What is wrong. */
export async function device({ Agent }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`the device: ${what}`);
  const given = (name, value) => {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    return () => (before ? Object.defineProperty(globalThis, name, before) : delete globalThis[name]);
  };
  {
    let isOnline = false;
    const fetch = async () => {
      if (!isOnline) throw new TypeError("no network");
      return answer(says("Hi."));
    };
    const takeBack = given("navigator", { onLine: false });
    // Nothing fires but the pauses between tries.
    const agent = new Agent({ model, fetch, clock: clock() });
    const stop = agent.followDevice();
    const turn = agent.stream("Hello");
    const types = [];
    for await (const { type } of turn) {
      types.push(type);
      if (type !== "waitingForNetwork") continue;
      isOnline = true;
      agent.networkAvailable();
    }
    const { text } = await turn.result;
    check(`a page that is offline at the start waits: ${types}`, types.includes("waitingForNetwork") && !types.includes("retrying") && text === "Hi.");
    stop();
    takeBack();
  }
  {
    const target = new EventTarget();
    const takeBack = given("document", Object.assign(target, { visibilityState: "hidden" }));
    const agent = new Agent({ model, device: { background: "cancel" }, fetch: async () => answer(says("Hi.")), clock: clock() });
    const stop = agent.followDevice();
    const error = await agent.run("Hello").catch((error) => error);
    check(`a page that is hidden at the start: ${error}`, error.kind === "cancelled");
    stop();
    takeBack();
  }
  return wrong;
}
