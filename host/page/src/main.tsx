import { render } from "preact";
import { App } from "./app";
import { learnExamples } from "./examples";
import { toComposer } from "./focus";
import { watch } from "./place";
import { compare, show } from "./session";
import { keepCurrent } from "./threads";

render(<App />, document.getElementById("app")!);
watch(() => void show());
void show();
void learnExamples();
void keepCurrent(compare);
toComposer();
