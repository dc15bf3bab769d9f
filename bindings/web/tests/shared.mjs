// One agent that many users share: nobody's messages are in another's request, and nothing of them is kept.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { answer, calls, clock, model, says } from "./agent.mjs";

const USERS = 100;
const RUNS = 10;
/** The turns of each conversation. */
const TURNS = 3;

/** Collects what is garbage, until the count is 0 or nothing more comes of it. */
async function collected(count) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  for (let step = 0; step < 200 && count() > 0; step += 1) {
    collect();
    await new Promise(setImmediate);
  }
  return count();
}

/** What is wrong. */
export async function shared({ Agent, tool }) {
  const wrong = [];
  const check = (what, holds) => holds || wrong.push(`a shared agent: ${what}`);
  const requests = [];
  /** Answers with the user's name, to every fourth user by way of a tool, in any order. */
  const asksTool = (name) => Number(name.slice(5)) % 4 === 0;
  const fetch = async (_, { body }) => {
    const messages = JSON.parse(body).messages;
    requests.push(messages);
    for (let turns = requests.length % 7; turns > 0; turns -= 1) await new Promise(setImmediate);
    const last = messages.at(-1);
    const name = last.role === "tool" ? last.content : last.content.slice(5);
    return answer(last.role === "user" && asksTool(name) ? calls("who_am_i") : says(`Hello, ${name}.`));
  };
  const whoAmI = tool({ name: "who_am_i", description: "The user.", execute: (_, { deps }) => deps.user });
  const agent = new Agent({ model, fetch, clock: clock(), instructions: "Greet.", tools: [whoAmI] });
  const users = Array.from({ length: USERS }, (_, user) => `user-${user}`);
  const names = (messages) => new Set(JSON.stringify(messages).match(/user-\d+/g));

  {
    const runs = users.flatMap((user) => Array.from({ length: RUNS }, () => user));
    const results = await Promise.all(runs.map((user) => agent.run(`I am ${user}`, { deps: { user } })));
    check("each run has its own answer", results.every(({ output }, at) => output === `Hello, ${runs[at]}.`));
    check("none is cancelled", results.every(({ stopReason }) => stopReason === "success"));
    check("no request has two users", requests.length === runs.length + runs.filter(asksTool).length && requests.every((messages) => names(messages).size === 1));
    check("nor an earlier turn", requests.every((messages) => messages.length <= 4));
    check("nor a result", results.every(({ messages }) => names(messages).size === 1 && messages.length <= 4));
    check("no turn is kept", agent.inUse.turns === 0 && agent.inUse.conversations === 0);
  }
  requests.length = 0;
  {
    const talks = users.map(async (user) => {
      const conversation = agent.conversation(user);
      for (let turn = 0; turn < TURNS; turn += 1) await conversation.send(`I am ${user}`, { deps: { user } });
      return conversation.messages;
    });
    const all = await Promise.all(talks);
    check("each conversation has all of its own", all.every((messages) => messages.length >= 2 * TURNS && names(messages).size === 1));
    check("and its requests have that alone", requests.length === TURNS * (USERS + users.filter(asksTool).length) && requests.every((messages) => names(messages).size === 1));
  }
  requests.length = 0;
  {
    const left = await collected(() => agent.inUse.conversations);
    check(`conversations that are let go are freed: ${left} are not`, left === 0);
    const kept = agent.conversation("kept");
    await kept.send("I am user-1", { deps: { user: "user-1" } });
    await collected(() => agent.inUse.conversations - 1);
    check("one in use is found again", agent.conversation("kept").messages.length === 2 && agent.conversation("kept").id === kept.id);
    check("as it is", agent.conversation("kept", { history: [] }).messages === kept.messages);
  }
  return wrong;
}
