// Who reads a turn: a loop, somebody who waits for its end, or both.

import { answer, clock, model, says } from "./agent.mjs";

/** What is wrong. */
export async function readers({ Agent }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`readers: ${what}`);
  const send = () => new Agent({ model, fetch: async () => answer(says("Hi.")), clock: clock() }).stream("Hello");
  /** Whether a promise hangs: nothing happens any more that could fulfil it. */
  const ends = (promise) => {
    const late = (async () => {
      for (let step = 0; step < 1000; step += 1) await new Promise(setImmediate);
      return "hangs";
    })();
    return Promise.race([promise, late]);
  };
  const read = async (turn) => {
    const types = [];
    for await (const { type } of turn) types.push(type);
    return types;
  };

  for (const [what, both] of Object.entries({
    "a loop, then the end": (turn) => [read(turn), turn.result],
    "the end, then a loop": (turn) => [turn.result, read(turn)].reverse(),
  })) {
    const [types, finished] = await ends(Promise.all(both(send())));
    check(`${what}: ${types}`, finished?.text === "Hi." && types.includes("TEXT_MESSAGE_CONTENT") && !types.includes("completed"));
  }
  {
    const turn = send();
    const finished = await ends(Promise.all([turn.result, turn.result]));
    check("two wait for the end", finished[0]?.text === "Hi." && finished[1]?.text === "Hi.");
  }
  {
    const turn = send();
    const first = read(turn);
    const second = await ends(read(turn).catch((error) => error));
    check(`a second loop is refused: ${second}`, second.kind === "misuse" && /result/.test(second.advice));
    check("and the first goes on", (await ends(first)).includes("TEXT_MESSAGE_CONTENT"));
  }
  {
    const turn = send();
    const finished = turn.result;
    for await (const _ of turn) break;
    check("whoever leaves the loop cancels it for all", (await ends(finished.catch((error) => error))).kind === "cancelled");
    check("the rest can be read", (await ends(read(turn).catch((error) => error.kind))) === "cancelled");
  }
  {
    const turn = send();
    const texts = [];
    for await (const text of turn.textStream) texts.push(text);
    check("the text alone can be read", texts.join("") === "Hi." && (await turn.result).output === "Hi.");
  }
  return wrong;
}
