// The page in a real browser. MERCER is the command to serve it with; CHROMIUM the browser.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { chromium } from "playwright-core";

const MERCER = process.env.MERCER ?? "mercer";
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const PICTURES = process.env.PICTURES; // a folder for screenshots, if they are wanted
const FLAGS = [
  "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
];
const folder = mkdtempSync(join(tmpdir(), "mercer-page-"));

let server, url, browser, page, context;
const strange = []; // errors in the console, and requests to others

before(async () => {
  server = spawn(MERCER, ["explore", "--no-open"], { stdio: ["ignore", "pipe", "ignore"] });
  url = await new Promise((done) => server.stdout.once("data", (text) => done(String(text).trim())));
  browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
});

after(async () => {
  await browser?.close();
  const ended = new Promise((done) => server.once("exit", done));
  server.kill("SIGINT");
  assert.equal(await ended, 0, "Ctrl-C ends it well");
});

beforeEach(async () => {
  await context?.close();
  strange.length = 0;
  await fresh({ viewport: { width: 1280, height: 900 } });
});

async function fresh(options) {
  context = await browser.newContext({ acceptDownloads: true, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(url).origin });
  page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && strange.push(message.text()));
  page.on("pageerror", (error) => strange.push(error.message));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(url).origin && !["blob:", "data:"].includes(protocol)) strange.push(request.url());
  });
  await page.goto(url);
  await settled();
}

// What the page shows is of these settings.
const command = () => page.locator("#copy code").innerText();
const settled = () => page.waitForFunction(() => document.querySelector("#copy code") && !document.querySelector("#progress.progress"));
const shows = (words) => page.waitForFunction((w) => document.querySelector("#copy code")?.textContent.includes(w), words);
const canvas = (id) => page.locator(`[data-plot=${id}]`);
const picture = (id) => canvas(id).locator("xpath=..").screenshot();
const quiet = () => assert.deepEqual(strange, []);
// The browser itself writes each refusal into the console.
const quietButRefusals = () => assert.deepEqual(strange.filter((text) => !/status of 422/.test(text)), []);
const csv = (name, text) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const opens = (path) => page.locator("#file").setInputFiles(path);
const setSlider = (id, value) =>
  page.locator(id).evaluate((input, v) => {
    input.value = v;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, String(value));

test("it loads, draws, and hides its token", async () => {
  assert.equal(await page.title(), "mercer explore");
  assert.deepEqual([new URL(page.url()).search, new URL(page.url()).hash], ["", ""]);
  assert.match(await page.locator("main").innerText(), /Kernel PCA[\s\S]*PCA for comparison/);
  assert.deepEqual(await context.cookies(), [], "cookies would be sent to every port of this machine");
  const drawn = await picture("scores");
  await canvas("scores").evaluate((over) => (over.previousSibling.style.visibility = "hidden"));
  assert.notDeepEqual(await picture("scores"), drawn, "there are points to hide");
  await page.reload();
  await settled();
  quiet();
});

test("no other server on this machine gets the token, or anything with it", async () => {
  const token = new URLSearchParams(new URL(url).hash.slice(1)).get("token");
  const here = new URL(url).origin;
  const got = []; // what the other server receives
  const other = createServer((request, response) => {
    got.push(`${request.method} ${request.url} ${request.rawHeaders.join(" ")}`);
    response.setHeader("content-type", "text/html").end("<!doctype html><title>other</title>");
  });
  await new Promise((done) => other.listen(0, "127.0.0.1", done));
  const there = `http://127.0.0.1:${other.address().port}`;
  // The same tab, where the token is known, goes to another port.
  await page.goto(`${there}/`);
  assert.equal(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }) + document.cookie + document.referrer), "{}");
  // Its scripts get neither data nor the page of the first.
  for (const path of ["/", "/api/start"]) {
    const refused = await page.evaluate((address) => fetch(address, { credentials: "include" }).then(() => "answered", () => "refused"), here + path);
    assert.equal(refused, "refused", path);
  }
  const framed = await page.evaluate((address) => new Promise((done) => {
    const frame = Object.assign(document.createElement("iframe"), { src: address, onload: () => done(frame.contentDocument === null) });
    document.body.append(frame);
  }), here);
  assert.ok(framed, "a frame of the page is not readable");
  assert.equal(got.filter((text) => text.includes(token)).length, 0, got.join("\n"));
  assert.ok(got.length > 0);
  // Another server of mercer does not take the token of the first, and without one there is no data.
  const second = spawn(MERCER, ["explore", "--no-open"], { stdio: ["ignore", "pipe", "ignore"] });
  const address = await new Promise((done) => second.stdout.once("data", (text) => done(String(text).trim())));
  for (const wrong of [new URL(address).origin, `${new URL(address).origin}/#token=${token}`]) {
    await page.goto("about:blank");
    await page.goto(wrong);
    await page.locator("[role=alert]").waitFor();
    assert.match(await page.locator("[role=alert]").innerText(), /token is missing or wrong[\s\S]*address that mercer printed/);
  }
  // The right address in the same tab, where only the fragment differs.
  await page.goto(address);
  await settled();
  // And back to the first, whose token the tab still has.
  await page.goto(here);
  await settled();
  second.kill("SIGINT");
  other.close();
});

test("every kernel of the registry can be chosen", async () => {
  const names = await page.locator("#kernel option").evaluateAll((options) => options.map((o) => o.value));
  const known = JSON.parse(execFileSync(MERCER, ["kernels", "--json"]));
  assert.deepEqual(names, [...known.map((k) => k.name), "expression", "pca"]);
  for (const { name, domain } of known.filter((k) => k.name !== "gaussian")) {
    await page.locator("#kernel").selectOption(name);
    // The rings have negative values, which a kernel of histograms does not take.
    if (domain !== "all points") {
      await page.locator("[role=alert]").waitFor();
      assert.match(await page.locator("[role=alert]").innerText(), /value -.*; expected value >= 0/);
      continue;
    }
    await shows(`--kernel ${name} `);
    assert.equal(await page.locator("[role=alert]").count(), 0, name);
  }
  await page.locator("#kernel").selectOption("pca");
  await page.waitForFunction(() => !document.querySelector("#copy code").textContent.includes("--kernel"));
  await page.locator("#kernel").selectOption("expression");
  await shows("'gaussian(gamma=median) + linear'");
  await page.locator("#expression").fill("gaussian(gama=1)");
  await page.locator("#expression").blur();
  await page.locator("[role=alert]").waitFor();
  assert.match(await page.locator("[role=alert]").innerText(), /gama[\s\S]*gamma/);
  quietButRefusals();
});

test("a slider moves the points, and its range is marked by a sweep", async () => {
  const before = await picture("scores");
  await page.locator("#parameter-gamma-sweep").waitFor();
  assert.match(await page.locator("#parameter-gamma-sweep").innerText(), /changes between 0\.\d+ and \d+/);
  assert.equal(await page.locator(".band").count(), 1);
  await setSlider("#parameter-gamma", 150);
  await shows("gamma=");
  await settled();
  const values = (await command()).match(/gamma=([\d.]+)/);
  assert.ok(Number(values[1]) > 1.4 && Number(values[1]) < 9, values[1]);
  assert.match(await page.locator("figure").first().innerText(), /400 of 400 points by PC1/);
  await page.waitForTimeout(100);
  assert.notDeepEqual(await picture("scores"), before);
  // Many movements, as a hand makes them: the last one counts.
  for (let s = 100; s <= 200; s += 4) await setSlider("#parameter-gamma", s);
  const last = await page.locator(".value").inputValue();
  await shows(`gamma=${last})`);
  quiet();
});

test("a tick of the slider asks for what changed and for nothing else", async () => {
  await page.locator("#parameter-gamma-sweep").waitFor();
  const asked = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    asked.push(`${request.method()} ${pathname.replace(/\d+/, "N")}${search}`);
  });
  await setSlider("#parameter-gamma", 150);
  await shows("gamma=");
  await settled();
  await page.waitForTimeout(500);
  const expected = ["GET /api/results/N/columns?of=scores&x=0&y=1", "GET /api/results/N/field?component=0", "POST /api/fit"];
  assert.deepEqual(asked.sort(), expected);
  // Another selection of the table changes everything.
  asked.length = 0;
  await page.locator("#label").selectOption("");
  await page.waitForFunction(() => !document.querySelector(".legend"));
  await settled();
  assert.ok(asked.some((path) => path.endsWith("/colours")) && asked.some((path) => path.includes("of=pca")), asked.join("\n"));
  quiet();
});

test("plots that cannot be drawn say why", async () => {
  const plots = page.locator("#downloads .plots");
  assert.match(await plots.innerText(), /loadings a kernel model has no loadings/);
  assert.equal(await plots.getByRole("button", { name: "Contours of the components (PDF)" }).count(), 1);
  await page.locator("#kernel").selectOption("pca");
  await page.waitForFunction(() => /PCA has no kernel matrix/.test(document.querySelector("#downloads").textContent));
  assert.equal(await plots.getByRole("button", { name: "Scores and loadings (SVG)" }).count(), 1);
  quiet();
});

test("a lasso selects in both views and fills the table", async () => {
  const box = await canvas("scores").boundingBox();
  const before = await picture("pca");
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + 60, box.y + 20);
  await page.mouse.down();
  for (const [x, y] of [[0.5, 0.03], [0.5, 0.5], [0.5, 0.9], [0.12, 0.9], [0.12, 0.04]]) {
    await page.mouse.move(box.x + x * box.width, box.y + y * box.height, { steps: 4 });
  }
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await page.locator("#rows").waitFor();
  const count = Number((await page.locator("#rows h2").innerText()).match(/^(\d+)/)[1]);
  assert.ok(count > 100 && count < 300, String(count));
  assert.equal(await page.locator("#rows tbody tr").count(), count);
  await page.waitForTimeout(100);
  assert.notDeepEqual(await picture("pca"), before, "the other view shows it, too");
  await page.locator("#rows h2 button").click();
  assert.equal(await page.locator("#rows").count(), 0);
  // The same by the button, and all of the view by a key.
  await page.locator("#lasso").click();
  await canvas("scores").focus();
  await page.keyboard.press("a");
  await page.locator("#rows").waitFor();
  assert.match(await page.locator("#rows h2").innerText(), /^400/);
  quiet();
});

test("hovering shows the row, a click its pre-image, and keys do both", async () => {
  await canvas("scores").focus();
  await page.keyboard.press("n");
  await page.waitForFunction(() => [...document.querySelectorAll("[role=status]")].some((s) => s.textContent.includes("row 1")));
  await page.keyboard.press("Enter");
  await page.locator("#point").waitFor();
  assert.match(await page.locator("#point").innerText(), /Row 1 [\s\S]*pre-image[\s\S]*ring/);
  const tip = await page.locator(".tip").boundingBox();
  await page.mouse.move(tip.x - 12, tip.y - 12);
  await page.mouse.down();
  await page.mouse.up();
  await page.locator("#kernel").selectOption("pca");
  await page.waitForFunction(() => document.querySelector("#point")?.textContent.includes("reconstruction"));
  await page.locator("#kernel").selectOption("laplacian");
  await page.waitForFunction(() => document.querySelector("#point")?.textContent.includes("found for the gaussian"));
  for (const key of ["ArrowLeft", "ArrowUp", "+", "-", "0", "Escape"]) await page.keyboard.press(key);
  const before = await picture("scores");
  const box = await canvas("scores").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -400);
  await page.waitForTimeout(400);
  assert.notDeepEqual(await picture("scores"), before, "the wheel zooms");
  await page.locator("#reset").click();
  quiet();
});

test("files are read, and bad ones are told what is wrong", async () => {
  await opens(csv("good.csv", "a,b,c,kind\n" + Array.from({ length: 60 }, (_, i) => `${i % 7},${i * i % 11},${Math.sin(i)},${"xyz"[i % 3]}`).join("\n")));
  await shows("good.csv");
  assert.match(await page.locator(".legend").innerText(), /x\s*y\s*z/);
  await opens(csv("bad.csv", "a,b\n1,2\n3,4\n5\n"));
  await page.locator("[role=alert]").waitFor();
  assert.match(await page.locator("[role=alert]").innerText(), /bad\.csv:4: 1 field, expected 2/);
  assert.match(await command(), /good\.csv/, "what was there is still there");
  await page.locator("#scale").check();
  await shows("--scale");
  // Missing values are asked about.
  await opens(csv("gaps.csv", "a,b\n1,2\n,4\n5,6\n7,9\n2,2\n"));
  await page.waitForFunction(() => document.querySelector("[role=alert]")?.textContent.includes("missing"));
  await page.locator("#missing").selectOption("drop");
  await shows("--missing drop");
  assert.equal(await page.locator("[role=alert]").count(), 0);
  // Dropped on the page.
  await page.evaluate(() => {
    const files = new DataTransfer();
    files.items.add(new File(["u,v\n1,2\n3,5\n4,4\n9,1\n"], "dropped.csv"));
    dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
  });
  await shows("dropped.csv");
  quietButRefusals();
});

test("a long fit shows its progress and can be cancelled", async () => {
  const rows = 30_000;
  const values = noise(rows * 6);
  await opens(npy("noise.npy", values, rows, 6));
  await shows("noise.npy");
  assert.match(await command(), /^mercer fit noise\.npy -k/, "many rows begin with PCA");
  await page.locator("#components").fill("60");
  await page.locator("#components").blur();
  await settled();
  await page.locator("#kernel").selectOption("gaussian");
  await page.locator("#cancel").waitFor();
  await page.waitForFunction(() => /Pass \d|landmarks/.test(document.querySelector("#progress").textContent));
  await page.locator("#cancel").click();
  await page.waitForFunction(() => !document.querySelector("#cancel"));
  assert.doesNotMatch(await command(), /gaussian/, "the picture of before stays");
  assert.match(await page.locator("#stopped").innerText(), /cancelled[\s\S]*Fit again/);
  await page.locator("#data").selectOption({ label: "rings (400 rows)" });
  await shows("mercer fit rings");
  quiet();
});

/// The arrays of a model file, and the facts beside them but for the record of a front and the checksum.
function parts(bytes) {
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString());
  const { front, checksum, ...facts } = JSON.parse(header.__metadata__.mercer);
  return { arrays: bytes.subarray(8 + length), facts };
}

test("what is copied gives what is shown", async () => {
  await page.locator("#data").selectOption({ label: "wine (178 rows)" });
  await shows("mercer fit wine");
  await page.locator("#scale").check();
  await shows("--scale");
  await page.locator("summary", { hasText: "Columns" }).click();
  await page.locator(".columns input").first().uncheck();
  await shows("--select");
  await page.locator("#parameter-gamma").focus();
  await page.keyboard.press("ArrowRight");
  await shows("gamma=");
  await settled();
  await page.locator("#copy button.primary").click();
  await page.locator("#copy", { hasText: "copied" }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, await command());
  const path = `${dirname(MERCER)}:${process.env.PATH}`;
  execFileSync("sh", ["-c", copied], { cwd: folder, env: { ...process.env, PATH: path } });
  const download = async (name) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#downloads").getByRole("button", { name }).click()]);
    return { as: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
  };
  const scores = await download("Scores (CSV)");
  assert.equal(scores.as, "wine.scores.csv");
  assert.equal(String(scores.bytes), readFileSync(join(folder, "wine.scores.csv"), "utf8"), "the same to the last digit");
  const model = await download("Model");
  // The command also records which tables it wrote beside the model.
  const [shown, written] = [parts(model.bytes), parts(readFileSync(join(folder, model.as)))];
  assert.ok(shown.arrays.equals(written.arrays), "and the same model");
  assert.deepEqual(shown.facts, written.facts);
  assert.match(String((await download("Report")).bytes), /^<!doctype html>[\s\S]*mercer report wine/);
  assert.match(String((await download("Scores (SVG)")).bytes), /^<svg/);
  await page.locator("#copy button", { hasText: "Python" }).click();
  assert.match(await command(), /mercer\.KernelPCA\(10, kernel="gaussian\(gamma=/);
  await page.locator("#copy button", { hasText: "Rust" }).click();
  assert.match(await command(), /KernelPca::new\(kernel\)/);
  quiet();
});

test("a million points are drawn, moved and chosen", async () => {
  const rows = 1_000_000;
  const values = noise(rows * 2);
  await opens(npy("million.npy", values, rows, 2));
  await page.waitForFunction(() => document.querySelector("#copy code")?.textContent.includes("million.npy"), null, { timeout: 120_000 });
  await settled();
  const box = await canvas("scores").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -120);
  // The page answers while it draws.
  const late = await page.evaluate(() => new Promise((done) => {
    const start = performance.now();
    setTimeout(() => done(performance.now() - start), 50);
  }));
  assert.ok(late < 3000, `${late} ms`);
  await canvas("scores").focus();
  await page.keyboard.press("a");
  await page.locator("#rows").waitFor();
  assert.match(await page.locator("#rows").innerText(), /The first 500 rows/);
  quiet();
});

for (const [name, width, colorScheme] of [["wide", 1280, "light"], ["wide", 1280, "dark"], ["narrow", 390, "light"], ["narrow", 390, "dark"]]) {
  test(`${name} and ${colorScheme}: nothing is cut off, everything has a name`, async () => {
    await context.close();
    await fresh({ viewport: { width, height: 900 }, colorScheme, hasTouch: name === "narrow" });
    await page.locator("#parameter-gamma-sweep").waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, select, input, [role=img], progress, a")]
        .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.[0]?.textContent.trim()))
        .map((e) => e.outerHTML.slice(0, 100)));
    assert.deepEqual(nameless, []);
    if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}.png`), fullPage: true });
    // Everything can be reached by the keyboard.
    const reached = new Set();
    await page.evaluate(() => document.activeElement?.blur());
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.dataset?.plot || document.activeElement.textContent.slice(0, 20)));
    }
    for (const id of ["data", "label", "kernel", "parameter-gamma", "components", "lasso", "axis-x", "scores", "pca"]) {
      assert.ok(reached.has(id), `${id} is not reached: ${[...reached].join(" | ")}`);
    }
    quiet();
  });
}

// Numbers without structure, the same in every run.
function noise(n) {
  let seed = 1;
  return new Float64Array(n).map(() => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32);
}

// A NumPy file of numbers of eight bytes.
function npy(name, values, rows, columns) {
  let head = `{'descr': '<f8', 'fortran_order': False, 'shape': (${rows}, ${columns}), }`;
  head = head.padEnd(117, " ") + "\n";
  const bytes = Buffer.concat([Buffer.from([0x93, ...Buffer.from("NUMPY"), 1, 0, head.length, 0]), Buffer.from(head), Buffer.from(values.buffer)]);
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}
