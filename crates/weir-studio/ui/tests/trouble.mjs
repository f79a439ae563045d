// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Two pages at once, and a studio that ends while it is looked at.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browse, serve, text, view } from "./browser.mjs";

const shots = process.argv[2];
const own = "// mine\nentry -> round_robin(slice = 3ms) -> cpus;\n";
await browse("two tabs", shots, async (t) => {
	const studio = await serve(["decentral"]);
	const file = join(studio.folder, "mine.weir");
	const [one, two] = [await t.page(studio.address), await t.page(studio.address)];
	const run = async (page) => {
		await page.bringToFront();
		await view(page, "run");
		await page.locator(".setup button.primary").click();
		await t.until(page, "frames arrive", () => (window.studio.run.panes[0]?.frames ?? 0) > 5);
	};
	t.step = "both run";
	await run(one);
	await run(two);
	t.step = "one is closed";
	await one.close();
	const seen = await two.evaluate(() => window.studio.run.panes[0].frames);
	await t.until(two, "the other run goes on", (n) => window.studio.run.panes[0].frames > n + 3 || window.studio.run.panes[0].state.done, seen);

	t.step = "both save";
	const three = await t.page(studio.address);
	t.answer = file;
	for (const page of [two, three]) {
		await page.bringToFront();
		await view(page, "edit");
		await page.evaluate((x) => window.studio.app.load("mine.weir", x, null, null), own);
	}
	await two.bringToFront();
	await two.keyboard.press("Control+s");
	await t.until(two, "it is saved", () => window.studio.app.path !== null);
	assert.equal(readFileSync(file, "utf8"), own);
	writeFileSync(file, "// another's\n" + own);
	await two.evaluate((x) => window.studio.app.editor.load(x + "// more\n"), own);
	t.expected = /422/;
	const asked = two.waitForEvent("dialog").then((d) => d.message());
	await two.keyboard.press("Control+s");
	assert.match(await asked, /changed on disk/, "another's change is not overwritten without a question");
	t.expected = /422|ERR_/;
	await studio.kill();
});
await browse("the studio ends", shots, async (t) => {
	const studio = await serve(["decentral", "--port", "0"]);
	const page = await t.page(studio.address);
	t.step = "run";
	await page.evaluate((x) => window.studio.app.editor.load(x), own);
	await view(page, "run");
	await page.locator(".setup button.primary").click();
	await t.until(page, "frames arrive", () => (window.studio.run.panes[0]?.frames ?? 0) > 5);
	t.step = "killed";
	t.expected = /ERR_|Failed to (load|fetch)|net::/;
	await studio.kill("SIGKILL");
	await t.until(page, "the run says so", () => document.querySelector("#view-run .clock").textContent === "connection lost");
	await view(page, "edit");
	await page.locator("#view-edit .cm-content").click();
	await page.keyboard.press("Control+End");
	await page.keyboard.type("// still here");
	await page.locator(".lostbar").waitFor({ state: "visible" });
	assert.match(await text(page), /\/\/ still here$/, "the text is kept");
	await t.shot(page, "lost");

	t.step = "again";
	const port = new URL(studio.address).port;
	const next = await serve(["decentral", "--port", port], studio.folder);
	await page.goto(next.address);
	await page.locator("#view-edit g.box").first().waitFor();
	await next.kill();
});
