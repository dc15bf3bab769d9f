// As where a server renders a page.

import { Agent, agUi } from "stepwell";

export function render() {
  try {
    new Agent({ model: agUi("/agent") });
  } catch (error) {
    return error;
  }
  return undefined;
}
