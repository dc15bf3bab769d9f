import { chat } from "./chat.js";

chat()
  .catch(String)
  .then((said) => postMessage(said));
