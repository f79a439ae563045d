// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Drives the page in a browser: `node drive.mjs ADDRESS [FOLDER FOR SCREENSHOTS]`. Fails where something does not happen.
import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [address, shots] = process.argv.slice(2);
const user = mkdtempSync(join(tmpdir(), "studio-"));
const context = await chromium.launchPersistentContext(user, {
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	headless: true,
	viewport: { width: 1440, height: 900 },
	args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const said = [];
let step = "start";
try {
	const page = await context.newPage();
	page.setDefaultTimeout(30000);
	page.on("console", (m) => { if (m.type() === "error") said.push(`${step}: ${m.text()}`); });
	page.on("pageerror", (e) => said.push(`${step}: ${e.stack ?? e.message}`));
	page.on("response", (r) => { if (r.status() >= 400) said.push(`${step}: ${r.status()} ${r.url().replace(/token=\w+/, "token=…")}`); });
	const shot = async (name) => { if (shots) await page.screenshot({ path: join(shots, name + ".png") }); };
	const text = () => page.evaluate(() => window.studio.app.editor.text());
	const boxes = () => page.locator("#view-edit g.box").evaluateAll((all) => all.map((b) => b.getAttribute("aria-label")));
	const view = (name) => page.locator(`[role=tab][data-view=${name}]`).click();
	const until = (what, f) => page.waitForFunction(f).catch(() => assert.fail(what));

	step = "open";
	await page.goto(address);
	await page.locator("#view-edit g.box").first().waitFor();
	await shot("edit");

	step = "edit";
	const before = await text();
	await page.evaluate(() => window.studio.app.editor.load("// kept\nentry -> round_robin(slice = 3ms) -> cpus;\n"));
	await until("the graph follows the text", () => [...document.querySelectorAll("#view-edit g.box")].some((b) => b.getAttribute("aria-label").includes("round_robin")));
	await page.locator("#view-edit .cm-content").click();
	await page.keyboard.press("Control+End");
	await page.keyboard.type("entyr ->");
	await until("a mistake is a finding in the editor", () => document.querySelector("#view-edit .cm-lintRange-error, #view-edit .cm-lint-marker-error"));
	await shot("mistake");
	for (let i = 0; i < 8; i++) await page.keyboard.press("Backspace");
	await page.keyboard.press("Control+Home");
	await until("the text is whole again", () => window.studio.app.sheet?.complete === true);
	await page.locator("#view-edit g.box", { hasText: "round_robin" }).click();
	await page.locator(".inspector .params").waitFor();
	await shot("inspector");
	const slider = page.locator(".inspector input[type=range]").first();
	await slider.focus();
	await page.keyboard.press("ArrowRight");
	await until("a slider changes the text", () => !window.studio.app.editor.text().includes("slice = 3ms"));
	assert.ok((await text()).startsWith("// kept\n"), "comments are kept");

	step = "run";
	await page.evaluate((t) => window.studio.app.editor.load(t), before);
	await until("the first text is back", () => window.studio.app.sheet?.complete === true);
	await view("run");
	await page.locator(".setup button.primary").click();
	await until("frames arrive", () => (window.studio.run.panes[0]?.frames ?? 0) > 5);
	await page.waitForTimeout(2500);
	await shot("run");
	await page.getByRole("button", { name: "Pause" }).click();
	await until("it pauses", () => window.studio.run.panes[0].state.frame.state === "paused");
	const log = () => page.locator("#view-run .log").innerText();
	const at = await log();
	await page.getByRole("button", { name: "Step 20" }).click();
	for (let i = 0; i < 50 && (await log()) === at; i++) await page.waitForTimeout(100);
	assert.notEqual(await log(), at, "twenty events more");
	await page.getByRole("button", { name: "Stop" }).click();
	await until("it stops with a result", () => window.studio.run.panes[0].state.done?.interrupted === true);
	await shot("stopped");

	step = "two";
	await page.getByLabel("second topology, beside the first").fill("global_rr");
	await page.locator(".setup button.primary").click();
	await until("both run", () => window.studio.run.panes.length === 2 && window.studio.run.panes.every((p) => p.frames > 3));
	await page.waitForTimeout(2500);
	await shot("two");
	await page.locator(".transport select").selectOption("full");
	await until("both end", () => window.studio.run.panes.every((p) => p.state.done));
	await shot("done");

	step = "learn";
	page.on("dialog", (d) => void d.accept());
	await view("learn");
	await shot("learn");
	await page.locator("[data-tour=slices]").click();
	await page.locator("aside.tour").waitFor();
	await until("the tour brings its text", () => window.studio.app.editor.text().includes("20ms"));
	await page.locator("#view-edit g.box", { hasText: "round_robin" }).click();
	await page.locator("aside.tour .ok").waitFor();
	await shot("tour");

	step = "live";
	await view("live");
	await page.waitForTimeout(500);
	await shot("live");

	assert.deepEqual(said, [], "nothing is wrong in the console");
	console.log("studio: edit, run, stop, two panes, tour: passed");
} catch (e) {
	console.error(`step ${step}: ${e.message}`);
	said.forEach((x) => console.error("  " + x));
	process.exitCode = 1;
	if (shots) await context.pages().at(-1)?.screenshot({ path: join(shots, "failed.png") });
} finally {
	await context.close();
}
