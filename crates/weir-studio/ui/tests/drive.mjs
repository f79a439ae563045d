// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What most people do: edit, run, pause and step, stop, compare two, look at finished runs. Screenshots of each view.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browse, serve, text, view } from "./browser.mjs";

const shots = process.argv[2];
const studio = await serve(["decentral"]);
await browse("edit, run, stop, two panes", shots, async (t) => {
	t.step = "open";
	const page = await t.page(studio.address);
	await t.shot(page, "edit");

	t.step = "edit";
	const before = await text(page);
	await page.evaluate(() => window.studio.app.editor.load("// kept\nentry -> round_robin(slice = 3ms) -> cpus;\n"));
	await t.until(page, "the graph follows the text", () => [...document.querySelectorAll("#view-edit g.box")].some((b) => b.getAttribute("aria-label").includes("round_robin")));
	await page.locator("#view-edit .cm-content").click();
	await page.keyboard.press("Control+End");
	await page.keyboard.type("entyr ->");
	await t.until(page, "a mistake is a finding in the editor", () => document.querySelector("#view-edit .cm-lintRange-error, #view-edit .cm-lint-marker-error"));
	await t.shot(page, "mistake");
	for (let i = 0; i < 8; i++) await page.keyboard.press("Backspace");
	await page.keyboard.press("Control+Home");
	await t.until(page, "the text is whole again", () => window.studio.app.sheet?.complete === true);
	await page.locator("#view-edit g.box", { hasText: "round_robin" }).click();
	await page.locator(".inspector .params").waitFor();
	await t.shot(page, "inspector");
	const slider = page.locator(".inspector input[type=range]").first();
	await slider.focus();
	await page.keyboard.press("ArrowRight");
	await t.until(page, "a slider changes the text", () => !window.studio.app.editor.text().includes("slice = 3ms"));
	assert.ok((await text(page)).startsWith("// kept\n"), "comments are kept");

	t.step = "run";
	await page.evaluate((x) => window.studio.app.editor.load(x), before);
	await t.until(page, "the first text is back", () => window.studio.app.sheet?.complete === true);
	await view(page, "run");
	await page.locator(".setup button.primary").click();
	await t.until(page, "frames arrive", () => (window.studio.run.panes[0]?.frames ?? 0) > 5);
	await page.waitForTimeout(2500);
	await t.shot(page, "run");
	await page.getByRole("button", { name: "Pause" }).click();
	await t.until(page, "it pauses", () => window.studio.run.panes[0].state.frame.state === "paused");
	const events = () => page.evaluate(() => window.studio.run.panes[0].state.frame.events);
	const at = await events();
	await page.getByRole("button", { name: "Step 20" }).click();
	await t.until(page, "twenty events more", (n) => window.studio.run.panes[0].state.frame.events >= n + 20 && window.studio.run.panes[0].state.frame.state === "paused", at);
	await page.getByRole("button", { name: "Stop" }).click();
	await t.until(page, "it stops with a result", () => window.studio.run.panes[0].state.done?.interrupted === true);
	await t.shot(page, "stopped");

	t.step = "two";
	await page.getByLabel("second topology, beside the first").fill("global_rr");
	await page.locator(".setup button.primary").click();
	await t.until(page, "both run", () => window.studio.run.panes.length === 2 && window.studio.run.panes.every((p) => p.frames > 3));
	await page.waitForTimeout(2500);
	await t.shot(page, "two");
	await page.locator(".transport select").selectOption("full");
	await t.until(page, "both end", () => window.studio.run.panes.every((p) => p.state.done));
	await t.shot(page, "done");

	t.step = "timeline";
	await page.locator(".pane .report summary").first().click();
	const report = page.frameLocator(".pane .report iframe").first();
	const chart = report.locator("canvas").nth(1);
	await chart.waitFor();
	await chart.evaluate((e) => e.scrollIntoView({ block: "center" }));
	const { width, height } = await chart.boundingBox();
	for (let i = 1; i < 12 && !(await page.locator("section.why .causes li").count()); i++) {
		await chart.click({ force: true, position: { x: 100 + (width - 110) * (i / 12), y: 34 + ((height - 40) * (i % 4)) / 5 } });
		await page.waitForTimeout(700);
	}
	await page.locator("section.why .causes li").first().waitFor();
	await t.shot(page, "timeline");

	t.step = "learn";
	await view(page, "learn");
	await t.shot(page, "learn");
	t.step = "live";
	await view(page, "live");
	await t.shot(page, "live");
});
await studio.kill();

const folder = mkdtempSync(join(tmpdir(), "studio-results-"));
const finished = (name, ...how) => execFileSync(process.env.RUNWEIR ?? "runweir", ["run", "-t", "priority", "-m", "smp-1", "-w", "locks", "--out", join(folder, name), "--quiet", ...how], { stdio: "ignore" });
for (const [name, trace, ...how] of [["packed", "trace.pftrace.zst", "--zstd"], ["plain", "trace.pftrace"]]) await browse(`finished runs, ${name}`, shots, async (t) => {
	finished(name, ...how);
	const served = await serve([join(folder, name), "--serve"], folder, "report");
	const page = await t.page();
	t.step = "open";
	await page.goto(served.address);
	await page.locator("#view-results iframe").waitFor();
	const chart = page.frameLocator("#view-results iframe").locator("canvas").nth(1);
	await chart.waitFor();
	t.step = "trace";
	const [file] = await Promise.all([page.waitForEvent("download"), page.locator(`a[download="${trace}"]`).click()]);
	assert.equal(statSync(await file.path()).size, statSync(join(folder, name, trace)).size);
	t.step = "explain";
	const { width, height } = await chart.boundingBox();
	for (let i = 1; i < 12 && !(await page.locator("#view-results section.why .causes li").count()); i++) {
		await chart.click({ position: { x: 100 + (width - 110) * (i / 12), y: Math.min(height - 6, 34) } });
		await page.waitForTimeout(500);
	}
	await page.locator("#view-results section.why .causes li").first().waitFor();
	await t.shot(page, "results");
	t.expected = /ERR_/;
	await served.kill();
});
rmSync(folder, { recursive: true });
