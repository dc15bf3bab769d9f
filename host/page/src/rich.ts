// What code and formulas become once what draws them is loaded. It is loaded when there is something to draw.
import type DOMPurify from "dompurify";

type Purifier = typeof DOMPurify;

/** More than this is not coloured. */
const LONGEST = 50_000;

/** A module that is loaded once, and then at hand at once. */
class Lazy<T> {
  private loaded: T | null = null;
  private loading: Promise<void> | undefined;

  constructor(private readonly load: () => Promise<T>) {}

  /** Works with it: now if it is there, else once it is. */
  use(work: (module: T) => void): void {
    if (this.loaded) return work(this.loaded);
    this.loading ??= this.load().then((module) => void (this.loaded = module));
    this.loading.then(
      () => work(this.loaded!),
      // The text is there without.
      () => (this.loading = undefined),
    );
  }
}

const highlighting = new Lazy(() => import("./highlight"));
const formulas = new Lazy(() => import("./math"));

/** Draws what there is of code and formulas in a tree that is clean already. */
export function enrich(tree: Element, purifier: Purifier): void {
  for (const code of tree.querySelectorAll<HTMLElement>("pre > code[class^='language-']")) {
    const text = code.textContent ?? "";
    if (text.length > LONGEST) continue;
    highlighting.use(({ highlighted }) => {
      const html = highlighted(text, code.className.slice("language-".length));
      if (html !== null) code.replaceChildren(purifier.sanitize(html, { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true }));
    });
  }
  for (const formula of tree.querySelectorAll<HTMLElement>("code.math")) {
    const text = formula.textContent ?? "";
    formulas.use(({ mathml }) => {
      const drawn = mathml(text, formula.classList.contains("display"));
      if (drawn === null) return;
      const clean = purifier.sanitize(drawn, { USE_PROFILES: { mathMl: true }, FORBID_TAGS: ["annotation"], FORBID_ATTR: ["style", "class"], RETURN_DOM_FRAGMENT: true });
      const math = clean.querySelector("math");
      if (math) formula.replaceWith(math);
    });
  }
}
