// Opens reports in a headless Chromium and looks at them as a reader does: nothing is said on the console, nothing is
// asked of the network, tables sort, the threshold moves its counts, axe finds no serious fault.
//
//   node check.mjs CHROMIUM AXE SHOTS REPORT...
//
// Prints one line of JSON for each report; ends with 1 when something does not hold. Speaks the DevTools protocol over a
// pipe, so nothing but Chromium and axe is needed.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, axe, shots, ...reports] = process.argv.slice(2);
const PATIENCE = 60_000;

class Browser {
  constructor() {
    this.profile = mkdtempSync(join(tmpdir(), "weir-browser-"));
    const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    const flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--disable-extensions",
      "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--window-size=1200,900",
      "--host-resolver-rules=MAP * ~NOTFOUND", `--user-data-dir=${this.profile}`, ...root];
    this.child = spawn(chromium, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.child.on("error", (error) => fail(`${chromium}: ${error.message}`));
    this.child.on("exit", (code) => this.done || fail(`${chromium} ended with ${code}`));
    [this.next, this.waiting, this.ears, this.text] = [1, new Map(), [], ""];
    this.child.stdio[4].setEncoding("utf8").on("data", (part) => this.read(part));
  }

  read(part) {
    const messages = (this.text + part).split("\0");
    this.text = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
      const answer = this.waiting.get(message.id);
      if (!answer) this.ears.forEach((ear) => ear(message));
      else if (message.error) answer.reject(new Error(`${answer.method}: ${message.error.message}`));
      else answer.resolve(message.result);
      this.waiting.delete(message.id);
    }
  }

  ask(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }));
  }

  async close() {
    this.done = true;
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.ask("Browser.close").catch(() => {});
    await ended;
    rmSync(this.profile, { recursive: true, force: true });
  }
}

// One page, and what it says and asks for.
class Page {
  static async open(browser, url) {
    const page = new Page();
    const { targetId } = await browser.ask("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await browser.ask("Target.attachToTarget", { targetId, flatten: true });
    [page.browser, page.session, page.said, page.asked] = [browser, sessionId, [], []];
    const loaded = new Promise((resolve) => {
      browser.ears.push((message) => message.sessionId === sessionId && page.hear(message, resolve));
    });
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.ask(`${domain}.enable`);
    await page.ask("Page.navigate", { url });
    await loaded;
    return page;
  }

  hear({ method, params }, loaded) {
    if (method === "Page.loadEventFired") loaded();
    if (method === "Runtime.consoleAPICalled") this.said.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
    if (method === "Runtime.exceptionThrown") this.said.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Log.entryAdded") this.said.push(params.entry.text);
    if (method === "Network.requestWillBeSent") this.asked.push(params.request.url);
  }

  ask(method, params) {
    return this.browser.ask(method, params, this.session);
  }

  // The value of an expression in the page; a function is called there with an argument.
  async run(body, ...args) {
    const expression = typeof body === "function" ? `(${body})(...${JSON.stringify(args)})` : body;
    const { result, exceptionDetails } = await this.ask("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async press(key, code) {
    for (const type of ["keyDown", "keyUp"]) {
      await this.ask("Input.dispatchKeyEvent", { type, key, code: key, windowsVirtualKeyCode: code });
    }
  }

  async shot(name) {
    const { data } = await this.ask("Page.captureScreenshot", { captureBeyondViewport: true });
    writeFileSync(join(shots, name), Buffer.from(data, "base64"));
  }
}

// A click on each head sorts up, another one down; returns the number of tables, and what is not in order.
function sorting() {
  const number = (text) => {
    const found = text.replace(/[\s,]/g, "").match(/^[-+]?\d+(\.\d+)?(?=$|%|[^\d.])/);
    return found ? Number(found[0]) : null;
  };
  const wrong = [];
  let moved = 0;
  const tables = [...document.querySelectorAll("table.sortable")];
  tables.forEach((table, place) => [...table.querySelectorAll("thead th")].forEach((head, column) => {
    const cells = () => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
    const before = [...table.tBodies[0].rows].map((row) => row.textContent);
    for (const order of ["ascending", "descending"]) {
      head.querySelector("button").click();
      const numbers = cells().map(number).filter((value) => value !== null);
      const sorted = [...numbers].sort((a, b) => (order === "ascending" ? a - b : b - a));
      const marked = table.querySelectorAll("th[aria-sort]");
      if (String(numbers) !== String(sorted) || marked.length !== 1 || head.getAttribute("aria-sort") !== order) {
        wrong.push(`table ${place}, column ${column}, ${order}: ${cells().slice(0, 5)}`);
      }
      const after = [...table.tBodies[0].rows].map((row) => row.textContent);
      moved += String(after) !== String(before);
      if (String([...after].sort()) !== String([...before].sort())) wrong.push(`table ${place} lost rows`);
    }
  }));
  return { tables: tables.length, moved, wrong };
}

// What stands beside the slider, and what must stand there by its data.
function slider() {
  const box = document.querySelector(".slider");
  if (!box) return null;
  const data = JSON.parse(box.querySelector("script").textContent);
  const from = Number(box.querySelector("input").value);
  const counted = [...box.querySelector("table").tBodies[0].rows].map((row) => Number(row.cells[1].textContent));
  const wanted = data.series.map((_, place) =>
    data.bins.filter(([score]) => score >= from).reduce((sum, [, counts]) => sum + counts[place], 0));
  return { hidden: box.hidden, from, counted, wanted, output: box.querySelector("output").textContent };
}

async function move(page) {
  const before = await page.run(slider);
  if (!before) return { slider: false, wrong: [] };
  const wrong = [];
  const check = (state, what) => {
    if (state.hidden || String(state.counted) !== String(state.wanted)) wrong.push(`${what}: ${JSON.stringify(state)}`);
    if (!state.output.startsWith(String(state.from))) wrong.push(`${what}: says ${state.output} at ${state.from}`);
  };
  check(before, "at first");
  await page.run(() => document.querySelector(".slider input").focus());
  await page.press("Home", 36);
  const lowest = await page.run(slider);
  check(lowest, "at the low end");
  await page.press("ArrowRight", 39);
  const next = await page.run(slider);
  check(next, "one step on");
  if (next.from !== lowest.from + 1) wrong.push(`a key moved it from ${lowest.from} to ${next.from}`);
  await page.press("End", 35);
  const highest = await page.run(slider);
  check(highest, "at the high end");
  if (highest.counted.some((count) => count !== 0)) wrong.push(`above the highest score: ${highest.counted}`);
  if (!lowest.counted.some((count) => count > 0)) wrong.push("nothing is counted at the low end");
  return { slider: true, wrong };
}

async function faults(page) {
  await page.run(readFileSync(axe, "utf8"));
  const found = await page.run(async () => {
    const { violations, passes } = await axe.run(document, { resultTypes: ["violations"] });
    const told = violations.map(({ id, impact, nodes }) => ({ id, impact, at: nodes.slice(0, 3).map((node) => node.html.slice(0, 200)) }));
    return { told, passes: passes.length };
  });
  return { serious: found.told.filter(({ impact }) => ["serious", "critical"].includes(impact)), others: found.told.length, passes: found.passes };
}

async function look(browser, report) {
  const url = pathToFileURL(report).href;
  const page = await Page.open(browser, url);
  const name = basename(report, ".html");
  await page.shot(`${name}.png`);
  const [sorted, moved] = [await page.run(sorting), await move(page)];
  const light = await faults(page);
  await page.ask("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  const dark = await faults(page);
  await page.shot(`${name}-dark.png`);
  await page.ask("Emulation.setDeviceMetricsOverride", { width: 390, height: 844, deviceScaleFactor: 1, mobile: true });
  await page.shot(`${name}-narrow.png`);
  const asked = page.asked.filter((other) => other !== url);
  const wrong = [...sorted.wrong, ...moved.wrong, ...page.said.map((text) => `console: ${text}`), ...asked.map((to) => `asked for ${to}`),
    ...[...light.serious, ...dark.serious].map((fault) => `axe: ${JSON.stringify(fault)}`)];
  console.log(JSON.stringify({ report: name, tables: sorted.tables, moved: sorted.moved, slider: moved.slider, axe_passes: light.passes,
    axe_others: light.others, wrong }));
  return wrong.length === 0;
}

function fail(words) {
  console.error(words);
  process.exit(1);
}

setTimeout(() => fail(`not done after ${PATIENCE / 1000} s`), PATIENCE).unref();
const browser = new Browser();
let good = true;
for (const report of reports) good = (await look(browser, report)) && good;
await browser.close();
process.exit(good ? 0 : 1);
