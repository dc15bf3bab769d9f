// The cases that every client runs.
import assert from "node:assert/strict";

const THREAD = "thread";
const QUESTION = "Count.";
const DELTAS = ["One, ", "two, ", "three."];
const ANSWER = DELTAS.join("");

export function cases(client) {
  const messages = `${client.message("user")}, ${client.message("assistant")}`;
  const running = client.running ?? client.stop;

  /** Starts the server, and opens the page. The server cancels a run that no client has read for the given seconds. */
  async function open(played, { resumeTimeout = 600, stopsAtServer = false } = {}) {
    played.server = await played.serve("--resume-timeout", resumeTimeout);
    const query = new URLSearchParams({ server: played.server.proxied, thread: THREAD });
    if (stopsAtServer) query.set("stops-at-server", "");
    await played.page.goto(`${played.address}?${query}`);
  }

  async function ask(page, question) {
    await page.fill(client.input, question);
    await page.click(client.send);
  }

  /** Waits until the page shows exactly these messages. */
  async function waitForMessages(page, expected) {
    const texts = (messages) => JSON.stringify([...document.querySelectorAll(messages)].map((it) => it.innerText.trim()));
    const trimmed = JSON.stringify(expected.map((text) => text.trim()));
    const waiting = page.waitForFunction(`(${texts})(${JSON.stringify(messages)}) === ${JSON.stringify(trimmed)}`);
    await waiting.catch(async () => {
      throw new Error(`the page shows ${await page.evaluate(texts, messages)}, not ${trimmed}`);
    });
  }

  /** Waits until the client shows no run. */
  const waitUntilIdle = (page) => page.locator(running).waitFor({ state: "detached" });

  /** Asks the question, and has the model begin its answer. */
  async function begin({ page, model }) {
    await ask(page, QUESTION);
    const answer = await model.nextAnswer();
    answer.say(DELTAS[0]);
    await waitForMessages(page, [QUESTION, DELTAS[0]]);
    return answer;
  }

  /** Has the model end its answer. The page must show the answer once, and the conversation must continue. */
  async function end({ page, model }, answer) {
    answer.say(DELTAS[2]);
    answer.end();
    await waitForMessages(page, [QUESTION, ANSWER]);
    await waitUntilIdle(page);
    assert.equal(model.unread(), 0, "the model is asked once");
    await ask(page, "And?");
    const next = await model.nextAnswer();
    next.say("That is all.");
    next.end();
    await waitForMessages(page, [QUESTION, ANSWER, "And?", "That is all."]);
    await waitUntilIdle(page);
  }

  /** Cuts the connection. The client must show what it has, and send no request. */
  async function cut({ page, server }, answer) {
    server.cut();
    await waitUntilIdle(page);
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    answer.say(DELTAS[1]);
    await waitForMessages(page, [QUESTION, DELTAS[0]]);
    assert.deepEqual(requests, []);
  }

  /** Stops the run in the page. The server must cancel the run, and the request to the model with it. */
  async function stop({ page, server, deadline }, answer) {
    await page.click(client.stop);
    await answer.closed;
    let status;
    while (status !== "cancelled") {
      deadline.throwIfAborted();
      const { session } = await (await fetch(`${server.url}/threads/${THREAD}`)).json();
      status = session.turns[0].status;
      assert.notEqual(status, "completed");
    }
    await waitUntilIdle(page);
    await waitForMessages(page, [QUESTION, DELTAS[0]]);
  }

  const all = {
    "plain answer": async (played) => {
      await open(played);
      const answer = await begin(played);
      answer.say(DELTAS[1]);
      await end(played, answer);
    },
    "reload in mid-answer": async (played) => {
      await open(played);
      const answer = await begin(played);
      await played.page.reload();
      await waitForMessages(played.page, [QUESTION, DELTAS[0]]);
      answer.say(DELTAS[1]);
      await waitForMessages(played.page, [QUESTION, DELTAS[0] + DELTAS[1]]);
      await end(played, answer);
    },
    "reload after a tool": async (played) => {
      const { page, model } = played;
      await open(played);
      const first = await begin(played);
      // No tool has this name, so the server answers the call with an error, and asks the model again.
      first.call("count");
      first.end();
      const second = await model.nextAnswer();
      second.say(DELTAS[1]);
      const texts = client.joinsHops ? [DELTAS[0] + DELTAS[1]] : [DELTAS[0], DELTAS[1]];
      await waitForMessages(page, [QUESTION, ...texts]);
      await page.reload();
      await waitForMessages(page, [QUESTION, ...texts]);
      second.say(DELTAS[2]);
      second.end();
      texts.push(texts.pop() + DELTAS[2]);
      await waitForMessages(page, [QUESTION, ...texts]);
      await waitUntilIdle(page);
    },
    "reload after the answer": async (played) => {
      await open(played);
      const answer = await begin(played);
      answer.say(DELTAS[1] + DELTAS[2]);
      answer.end();
      await waitUntilIdle(played.page);
      await played.page.reload();
      await waitForMessages(played.page, [QUESTION, ANSWER]);
      await waitUntilIdle(played.page);
    },
    "cut, then reload": async (played) => {
      await open(played);
      const answer = await begin(played);
      await cut(played, answer);
      await played.page.reload();
      await end(played, answer);
    },
    "cut, then reconnect": async (played) => {
      await open(played);
      const answer = await begin(played);
      await cut(played, answer);
      await played.page.click("text=Reconnect");
      await end(played, answer);
    },
    "cut, then next question": async (played) => {
      const { page, model } = played;
      await open(played);
      const answer = await begin(played);
      await cut(played, answer);
      // The new run takes over the thread, so the server cancels the run that the client has lost.
      await ask(page, "And?");
      const next = await model.nextAnswer();
      await answer.closed;
      next.say("That is all.");
      next.end();
      await waitForMessages(page, [QUESTION, DELTAS[0], "And?", "That is all."]);
      await waitUntilIdle(page);
    },
    stop: async (played) => {
      await open(played, { stopsAtServer: true });
      await stop(played, await begin(played));
    },
    "reload, then stop": async (played) => {
      await open(played, { stopsAtServer: true });
      const answer = await begin(played);
      await played.page.reload();
      await waitForMessages(played.page, [QUESTION, DELTAS[0]]);
      await stop(played, answer);
    },
  };
  if (!client.stopsAtServer) {
    all["stop, unknown to the app"] = async (played) => {
      await open(played, { resumeTimeout: 1 });
      await stop(played, await begin(played));
    };
  }
  if (client.resumesWhenVisible) {
    all["cut, then tab shown"] = async (played) => {
      await open(played);
      const answer = await begin(played);
      await cut(played, answer);
      await played.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await end(played, answer);
    };
  }
  return all;
}
