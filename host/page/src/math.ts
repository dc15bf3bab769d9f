// Formulas: loaded when there are some.
import katex from "katex";

/** The formula in MathML, which browsers draw by themselves; nothing if it is none. */
export function mathml(formula: string, isDisplay: boolean): string | null {
  try {
    return katex.renderToString(formula, { output: "mathml", displayMode: isDisplay, throwOnError: true, strict: "ignore", trust: false, maxExpand: 200, maxSize: 20 });
  } catch {
    return null;
  }
}
