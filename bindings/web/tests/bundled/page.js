// The same in the page and in a worker of its own.

import { chat } from "./chat.js";

const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
const inWorker = new Promise((resolve) => {
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => resolve(`the worker broke: ${message}`);
});
Promise.all([chat().catch(String), inWorker]).then((said) => {
  document.body.textContent = said.join("; ");
  document.title = "over";
});
