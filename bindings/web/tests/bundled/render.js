// As where a server renders a page.

import { Agent } from "stepwell";

export function render() {
  try {
    new Agent({ provider: "ag-ui", baseUrl: "/agent" });
  } catch (error) {
    return error;
  }
  return undefined;
}
