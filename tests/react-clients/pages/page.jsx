// What every page shares: the parameters of its address, and its root.
import { createRoot } from "react-dom/client";

const parameters = new URL(location.href).searchParams;

/** The address of `stepwell serve`, which has another origin than the page. */
export const server = parameters.get("server");

/** The id of the conversation. A reload keeps it. */
export const thread = parameters.get("thread");

/** Whether the app requests a stop from the server when its client closes the connection. */
export const stopsAtServer = parameters.has("stops-at-server");

export const post = (path, body) =>
  fetch(server + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export const show = (page) => createRoot(document.getElementById("root")).render(page);
