import { render } from "preact";
import { App } from "./app";
import { toComposer } from "./focus";
import { watch } from "./place";
import { learn } from "./server";
import { compare, show } from "./session";
import { keepCurrent } from "./threads";

render(<App />, document.getElementById("app")!);
watch(() => void show());
void show();
void learn();
void keepCurrent(compare);
toComposer();
