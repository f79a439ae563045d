// SPDX-License-Identifier: MIT OR GPL-2.0-only
// With the keyboard alone: an edit, a run, its control, an explanation. And axe has no serious finding in any view, light or dark.
import assert from "node:assert/strict";
import { browse, findings, serve, text, view } from "./browser.mjs";

const shots = process.argv[2];
const studio = await serve(["decentral"]);
await browse("keyboard alone", shots, async (t) => {
	const page = await t.page(studio.address);
	const press = async (key, times = 1) => { for (let i = 0; i < times; i++) await page.keyboard.press(key); };
	/** Tab until the focus is there. */
	const reach = async (what, selector) => {
		for (let i = 0; i < 250; i++) {
			if (await page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector)) return;
			await press("Tab");
		}
		assert.fail(`no Tab leads to ${what}`);
	};

	t.step = "graph";
	await page.evaluate(() => document.activeElement?.blur());
	await reach("the graph", "#view-edit g.box");
	await press("ArrowRight", 2);
	const here = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
	assert.match(here, /round_robin/, "arrows walk along the pipes");
	await press("Enter");
	await reach("the slider of its slice", ".inspector input[type=range]");
	const before = await text(page);
	await press("ArrowRight");
	await t.until(page, "the slider changes the text", (b) => window.studio.app.editor.text() !== b, before);
	await press("Control+z");
	await t.until(page, "the change is taken back", (b) => window.studio.app.editor.text() === b, before);

	t.step = "views";
	await reach("the tabs", "[role=tab][aria-selected=true]");
	await press("ArrowRight");
	assert.ok(await page.locator("#view-run").isVisible(), "arrows change the view");

	t.step = "run";
	await press("Control+Enter");
	await t.until(page, "frames arrive", () => (window.studio.run.panes[0]?.frames ?? 0) > 5);
	await reach("the pause", ".transport button");
	await press("Enter");
	await t.until(page, "it pauses", () => window.studio.run.panes[0].state.frame.state === "paused");
	await press("Tab");
	const log = () => page.evaluate(() => window.studio.run.panes[0].state.frame.log.at(-1)?.join(" "));
	const at = await log();
	await press("Enter");
	await t.until(page, "one event more", (was) => window.studio.run.panes[0].state.frame.log.at(-1)?.join(" ") !== was, at);
	assert.ok(await page.evaluate(() => window.studio.run.panes[0].state.frame.busy.some((b) => b > 0)), "a run that stands still shows what its CPUs did");

	t.step = "explain";
	await reach("a question", ".worst button.why");
	await press("Enter");
	await page.locator("section.why .causes li").first().waitFor();
	assert.match(await page.locator("section.why h3").innerText(), /^Why .* waited for /);
	await t.shot(page, "explain");
});
await browse("axe", shots, async (t) => {
	const page = await t.page(studio.address);
	for (const dark of [false, true]) {
		if (dark) await page.locator("button.theme").click();
		for (const name of ["edit", "run", "live", "learn"]) {
			t.step = `${name}${dark ? ", dark" : ""}`;
			await view(page, name);
			if (name === "edit") await page.locator("#view-edit g.box").first().click();
			if (name === "run" && !dark) {
				await page.locator(".setup button.primary").click();
				await t.until(page, "frames arrive", () => (window.studio.run.panes[0]?.frames ?? 0) > 5);
				await page.locator(".transport select").selectOption("full");
				await t.until(page, "it ends", () => window.studio.run.panes[0].state.done);
				await page.locator(".worst button.why").first().click();
				await page.locator("section.why .causes li").first().waitFor();
			}
			assert.deepEqual(await findings(page), []);
		}
	}
});
await studio.kill();
