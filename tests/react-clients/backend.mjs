// The backend of a page: a model that the test speaks for, `stepwell serve`, and a proxy that cuts connections.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, createServer as createProxy } from "node:net";
import { createInterface } from "node:readline";

/** Makes a server listen on this machine, and returns its port. */
export async function listen(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server.address().port;
}

/** Starts a model. `nextAnswer` waits for the server's next request, and returns the answer for the test to give. */
export async function startModel() {
  const readers = [];
  const answers = [];
  const model = createServer((request, response) => {
    const send = (delta, reason = null) => {
      const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
      response.write(`data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`);
    };
    response.writeHead(200, { "content-type": "text/event-stream" });
    const answer = {
      say: (content) => send({ role: "assistant", content }),
      call: (name) => send({ tool_calls: [{ index: 0, id: "call", type: "function", function: { name, arguments: "{}" } }] }),
      end: () => {
        send({}, "stop");
        response.end("data: [DONE]\n\n");
      },
      closed: once(response, "close"),
    };
    const read = readers.shift();
    if (read) read(answer);
    else answers.push(answer);
  });
  const url = `http://127.0.0.1:${await listen(model)}/v1`;
  const nextAnswer = () => new Promise((resolve) => (answers.length ? resolve(answers.shift()) : readers.push(resolve)));
  const close = () => {
    model.closeAllConnections();
    model.close();
  };
  return { url, nextAnswer, unread: () => answers.length, close };
}

/** Starts `stepwell serve` with that model, behind a proxy. Pages of `origin` may use the server. */
export async function startServer(program, model, origin, ...more) {
  const args = ["--listen", "127.0.0.1:0", "--provider", "openai-compatible", "--base-url", model.url, "--model", "m", "--allow-origin", origin];
  const server = spawn(program, ["serve", ...args, ...more], { stdio: ["ignore", "pipe", "inherit"] });
  const kill = () => server.kill();
  process.on("exit", kill);
  let port;
  for await (const line of createInterface(server.stdout)) {
    port = line.match(/http:\/\/[^/\s]+:(\d+)/)?.[1];
    if (port) break;
  }
  if (!port) throw new Error("the server has not started");
  const proxy = await startProxy(port);
  const close = () => {
    proxy.close();
    process.off("exit", kill);
    kill();
  };
  return { ...proxy, url: `http://127.0.0.1:${port}`, close };
}

/** Starts a proxy in front of the port. `cut` resets all connections; new connections get through. */
async function startProxy(port) {
  const sockets = new Set();
  const proxy = createProxy((client) => {
    const server = connect(port, "127.0.0.1");
    for (const [from, to] of [[client, server], [server, client]]) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        to.destroy();
        sockets.delete(from);
      });
    }
  });
  const cut = () => sockets.forEach((socket) => socket.resetAndDestroy());
  const close = () => {
    cut();
    proxy.close();
  };
  return { cut, close, proxied: `http://127.0.0.1:${await listen(proxy)}` };
}
