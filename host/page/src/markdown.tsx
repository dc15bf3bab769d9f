// Markdown that somebody else wrote, and perhaps to do harm: parsed by one library, cleaned by another.
import DOMPurify from "dompurify";
import { Marked, type Token, type TokenizerAndRendererExtension, type TokensList } from "marked";
import { memo } from "preact/compat";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { copyButton } from "./copy";
import { enrich } from "./rich";
import { visible } from "./visible";

/** Where a link may lead. */
const ADDRESSES = /^(?:https?:|mailto:)/i;

/** The HTML that people write in Markdown, and that says nothing but how a word looks. */
const PLAIN_TAG = /^<(?:br ?\/?|\/?(?:sub|sup|kbd|mark|u|s|b|i|small))>$/i;

/** A formula, between the signs that models put around one. A dollar before a number, or two around words, are of money. */
const FORMULA = /^(?:\$\$(?=[^$]*[\\^_=+])([^$]{1,2000}?)\$\$|\\\[([^]{1,2000}?)\\\]|\\\(([^]{1,2000}?)\\\)|\$(?![\s$])((?:\\.|[^\\\n$])*[^\\\s$])\$(?![\w$]))/;
const FORMULA_ALONE = /^ {0,3}(?:\$\$([^]{1,10000}?)\$\$|\\\[([^]{1,10000}?)\\\])[ \t]*(?:\n+|$)/;

function formulas(level: "block" | "inline", rule: RegExp): TokenizerAndRendererExtension {
  const name = `formula-${level}`;
  return {
    name,
    level,
    start: (source) => {
      const at = source.search(level === "block" ? /(?:^|\n) {0,3}(?:\$\$|\\\[)/ : /\$|\\[([]/);
      return at < 0 ? undefined : at;
    },
    tokenizer: (source) => {
      const found = rule.exec(source);
      if (!found) return undefined;
      const text = found.slice(1).find((group) => group !== undefined) ?? "";
      return { type: name, raw: found[0], text: text.trim() };
    },
    renderer: ({ raw, text }) => {
      const isDisplay = level === "block" || /^(?:\$\$|\\\[)/.test(raw);
      const code = `<code class="math${isDisplay ? " display" : ""}">${escaped(String(text))}</code>`;
      return level === "block" ? `<p>${code}</p>` : code;
    },
  };
}

const marked = new Marked({
  extensions: [formulas("block", FORMULA_ALONE), formulas("inline", FORMULA)],
  gfm: true,
  breaks: true,
  renderer: {
    // Shown as it was written. It does not get as far as the cleaning.
    html: ({ text, block }) => {
      const shown = PLAIN_TAG.test(text.trim()) ? text : escaped(text.trim()).replaceAll("\n", "<br>");
      return block ? `<p>${shown}</p>` : shown;
    },
    // A picture tells its server who looks at it: it is loaded only if the user asks for it.
    image: ({ href, text }) => `<a href="${escaped(href)}">Picture${text ? `: ${escaped(text)}` : ""}</a>`,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

function escaped(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

/** What a text may be made of: no picture, no form, no style. */
const TAGS = [
  ...["p", "br", "hr", "blockquote", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "code", "strong", "em"],
  ...["del", "sub", "sup", "kbd", "mark", "u", "s", "b", "i", "small", "a", "table", "thead", "tbody", "tr", "th", "td"],
];
const ATTRIBUTES = ["href", "title", "align", "start", "class"];

/** What a class may say: the language of code, or that it is a formula. */
const CLASS = /^(?:language-[\w+#.-]{1,40}|math|math display)$/;

const purifier = DOMPurify(window);
const OPTIONS = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ATTRIBUTES,
  ALLOWED_URI_REGEXP: ADDRESSES,
  // These are no addresses.
  ADD_URI_SAFE_ATTR: ["align", "start", "class"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** The text as a tree that can do nothing. */
export function clean(html: string): DocumentFragment {
  const fragment = purifier.sanitize(html, { ...OPTIONS, RETURN_DOM_FRAGMENT: true });
  for (const marked of fragment.querySelectorAll("[class]")) {
    if (marked.tagName !== "CODE" || !CLASS.test(marked.className)) marked.removeAttribute("class");
  }
  for (const link of fragment.querySelectorAll("a")) {
    if (!ADDRESSES.test(link.getAttribute("href") ?? "")) link.removeAttribute("href");
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
    link.dir = "auto";
  }
  // The page has a heading of its own for each turn.
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const lower = document.createElement(`h${Math.min(6, Number(heading.tagName[1]) + 2)}`);
    lower.append(...heading.childNodes);
    heading.replaceWith(lower);
  }
  // What would turn code round, or hide in it, is shown.
  for (const code of fragment.querySelectorAll("code")) {
    const text = visible(code.textContent ?? "");
    if (text !== code.textContent) code.textContent = text;
  }
  for (const wide of fragment.querySelectorAll("pre, table")) {
    const frame = document.createElement("div");
    const isCode = wide.tagName === "PRE";
    frame.className = isCode ? "code" : "scroll";
    wide.replaceWith(frame);
    const scrolled = isCode ? (wide as HTMLElement) : frame;
    // Whoever has no mouse scrolls with the keys.
    scrolled.tabIndex = 0;
    scrolled.setAttribute("role", "region");
    scrolled.setAttribute("aria-label", isCode ? "Code" : "Table");
    frame.append(wide);
    if (isCode) frame.append(copyButton(() => wide.textContent ?? ""));
  }
  return fragment;
}

/** A piece of the text between two blank lines. It is made anew only if it has changed. */
const Block = memo(({ html }: { html: string }) => {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    place.current?.replaceChildren(clean(html));
    if (place.current) enrich(place.current, purifier);
  }, [html]);
  return <div ref={place} class="block" />;
});

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => {
    const tokens = marked.lexer(text);
    return tokens.filter((token) => token.type !== "space" && token.type !== "def").map((token) => htmlOf(token, tokens));
  }, [text]);
  return (
    <div class="markdown" dir="auto">
      {blocks.map((html, index) => (
        <Block key={index} html={html} />
      ))}
    </div>
  );
}

function htmlOf(token: Token, { links }: TokensList): string {
  return marked.parser(Object.assign([token], { links }));
}
