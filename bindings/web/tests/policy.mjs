// A page whose Content-Security-Policy is strict.

/** What is wrong. */
export async function policy(browser, address) {
  const wrong = [];
  const page = await browser.newPage();
  const loaded = async (policy) => {
    await page.route("**/strict", (route) => route.fulfill({ contentType: "text/html", headers: { "content-security-policy": policy }, body: "<!doctype html><title>Stepwell</title>" }));
    await page.goto(`${address}strict`);
    const came = await page.evaluate(async () => {
      const stepwell = await import("/package/index.js");
      return stepwell.default().then(
        () => "loaded",
        ({ code, advice }) => `${code}: ${advice}`,
      );
    });
    await page.unroute("**/strict");
    return came;
  };
  const refused = await loaded("script-src 'self'");
  if (!/^configuration: .*'wasm-unsafe-eval'/.test(refused)) wrong.push(`a policy without 'wasm-unsafe-eval': ${refused}`);
  const allowed = await loaded("script-src 'self' 'wasm-unsafe-eval'");
  if (allowed !== "loaded") wrong.push(`a policy with 'wasm-unsafe-eval': ${allowed}`);
  await page.close();
  console.log(`a strict policy, ${wrong.length} wrong`);
  return wrong;
}
