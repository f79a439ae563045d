// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A newcomer's first minutes: text that was not saved survives a reload, the editor is near by keyboard, the wheel zooms, a wrong seed is
// refused and the refusal goes away, the catalogue begins with what to read first, and a narrow screen shows everything.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { browse, serve, text, view } from "./browser.mjs";

const shots = process.argv[2];
const studio = await serve();
await browse("first minutes", shots, async (t) => {
	const page = await t.page(studio.address);

	t.step = "draft";
	await page.evaluate(() => { const e = window.studio.app.editor; e.apply([{ from: 0, to: e.text().length, insert: "entry -> fifo -> cpus;  // mine\n" }]); });
	await t.until(page, "the text is checked", () => window.studio.app.dirty && window.studio.app.sheet !== null);
	await page.reload();
	await page.locator("#view-edit g.box").first().waitFor({ state: "attached" });
	assert.match(await text(page), /\/\/ mine/, "unsaved text survives a reload");

	t.step = "keyboard";
	await page.evaluate(() => document.activeElement?.blur());
	const inEditor = () => page.evaluate(() => !!document.activeElement?.closest(".cm-editor"));
	await page.keyboard.press("Tab");
	await page.keyboard.press("Enter");
	assert.ok(await inEditor(), "the first stop leads to the text");
	await page.evaluate(() => document.activeElement?.blur());
	await page.locator("[role=tab][aria-selected=true]").focus();
	let presses = 0;
	while (!(await inEditor())) {
		await page.keyboard.press("Tab");
		presses += 1;
		assert.ok(presses <= 14, "the palette is one stop: no more than 14 presses of Tab from the tabs to the text");
	}
	await page.getByLabel("find a component").focus();
	await page.keyboard.press("Tab");
	const chip = () => page.evaluate(() => document.activeElement?.textContent ?? "");
	const first = await chip();
	await page.keyboard.press("ArrowDown");
	assert.notEqual(await chip(), first, "arrows go from component to component");

	t.step = "zoom";
	const size = () => page.locator("#view-edit g.box").first().boundingBox().then((b) => b.width);
	const before = await size();
	await page.locator("#view-edit g.box").first().hover();
	await page.mouse.wheel(0, -300);
	await page.waitForTimeout(300);
	assert.ok((await size()) > before * 1.02, "the wheel zooms");

	t.step = "seed";
	await view(page, "run");
	const seed = page.locator(".field.seed input");
	await seed.fill("x");
	await page.locator(".setup button.primary").click();
	assert.equal(await seed.getAttribute("aria-invalid"), "true");
	assert.match(await page.locator("#toast").textContent(), /not a seed/);
	assert.equal(await page.evaluate(() => window.studio.run.panes.some((p) => p.state)), false, "nothing runs");
	await seed.fill("2");
	await page.locator(".setup button.primary").click();
	await t.until(page, "it runs", () => window.studio.run.panes.some((p) => p.state));
	assert.equal(await seed.getAttribute("aria-invalid"), null);
	assert.doesNotMatch(await page.locator("#toast").textContent(), /not a seed/, "what was refused before is over");

	t.step = "narrow";
	await page.setViewportSize({ width: 390, height: 844 });
	for (const name of ["edit", "run", "results", "live", "learn"]) {
		if (!(await page.locator(`[role=tab][data-view=${name}]`).count())) continue;
		await view(page, name);
		const width = await page.evaluate(() => document.documentElement.scrollWidth);
		assert.ok(width <= 390, `${name} is ${width} px wide`);
		await t.shot(page, `narrow-${name}`);
	}

	t.step = "report";
	const ran = spawnSync(process.env.RUNWEIR ?? "runweir", ["run", "-t", "decentral", "-m", "desktop", "-w", "video", "-d", "200ms", "--quiet", "--out", "made"], { cwd: studio.folder });
	assert.equal(ran.status, 0, String(ran.stderr));
	await page.goto(`file://${studio.folder}/made/report.html`);
	await page.locator("table.worst").waitFor();
	const width = await page.evaluate(() => document.documentElement.scrollWidth);
	assert.ok(width <= 390, `the report is ${width} px wide`);
});
await studio.kill();
