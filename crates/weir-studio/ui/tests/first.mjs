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

	t.step = "undo";
	const drawn = await text(page);
	await page.evaluate(() => window.studio.app.act({ do: "add", component: "depth" }));
	assert.notEqual(await text(page), drawn, "the graph changes the text");
	await view(page, "learn");
	await page.evaluate(() => document.activeElement?.blur());
	await page.keyboard.press("Control+z");
	assert.equal(await text(page), drawn, "undo works from another view, too");
	await page.keyboard.press("Control+Shift+z");
	assert.notEqual(await text(page), drawn, "and redo");
	await page.keyboard.press("Control+z");
	await view(page, "edit");

	t.step = "start here";
	await page.getByRole("button", { name: "Open…" }).click();
	const headings = page.locator("dialog ul.catalogue h3");
	assert.deepEqual(await headings.allTextContents(), ["Start here", "All"]);
	assert.equal(await page.locator("dialog ul.catalogue li strong").first().textContent(), "decentral");
	await page.locator("dialog button.close").click();
	const kinds = await page.locator(".palette .kind h3").allTextContents();
	assert.equal(kinds.at(-1), "Measuring aids", "what measures is not among the policies");

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

	t.step = "counted once";
	// Half the run, then still: what waits, by box. A task is in every pipe on its way, and waits at one box.
	await page.locator(".transport button").first().click();
	await t.until(page, "it stands still, or is done", () => ["paused", "done"].includes(window.studio.run.panes[0].state.frame?.state));
	const waiting = await page.evaluate(() => [...document.querySelectorAll("#view-run g.box text.live")].map((x) => /^([\d ]+) waiting/.exec(x.textContent)?.[1]).filter(Boolean).map((x) => Number(x.replaceAll(" ", ""))).reduce((a, b) => a + b, 0));
	assert.ok(waiting <= 160, `hackbench has 160 tasks, and ${waiting} are said to wait`);
	assert.equal(await page.evaluate(() => [...document.querySelectorAll("#view-run g.line text")].some((x) => / tasks$/.test(x.textContent))), false, "pipes do not count them again");

	t.step = "share";
	if (await page.evaluate(() => window.studio.run.panes[0].state.frame.state === "paused")) await page.locator(".transport button").first().click();
	await page.locator(".transport select").selectOption("full");
	const link = page.locator("a.share");
	await link.waitFor();
	const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
	const kept = `${studio.folder}/shared.html`;
	await download.saveAs(kept);
	const other = await t.page();
	await other.goto(`file://${kept}`);
	await other.locator("h1").waitFor();
	assert.match(await other.locator("h1").textContent(), / on /, "the file shows the run without the studio");
	await other.close();

	t.step = "widths";
	for (const [width, height] of [[1440, 900], [1024, 768], [390, 844]]) {
		await page.setViewportSize({ width, height });
		for (const name of ["edit", "run", "results", "live", "learn"]) {
			if (!(await page.locator(`[role=tab][data-view=${name}]`).count())) continue;
			await view(page, name);
			const needed = await page.evaluate(() => document.documentElement.scrollWidth);
			assert.ok(needed <= width, `${name} is ${needed} px wide on ${width}`);
			await t.shot(page, `${name}-${width}`);
		}
	}

	t.step = "report";
	const ran = spawnSync(process.env.RUNWEIR ?? "runweir", ["run", "-t", "decentral", "-m", "desktop", "-w", "video", "-d", "200ms", "--quiet", "--out", "made"], { cwd: studio.folder });
	assert.equal(ran.status, 0, String(ran.stderr));
	await page.goto(`file://${studio.folder}/made/report.html`);
	await page.locator("table.worst").waitFor();
	const width = await page.evaluate(() => document.documentElement.scrollWidth);
	assert.ok(width <= 390, `the report is ${width} px wide`);

	t.step = "cold";
	// The warmest part of a run in which nothing is warm is not red.
	const cold = spawnSync(process.env.RUNWEIR ?? "runweir", ["run", "-t", "central", "-m", "smp-4", "-w", "periodic:tasks=2,util=10%", "-d", "200ms", "--quiet", "--out", "cold"], { cwd: studio.folder });
	assert.equal(cold.status, 0, String(cold.stderr));
	await page.goto(`file://${studio.folder}/cold/report.html`);
	await page.locator("[data-pipe]").first().waitFor({ state: "attached" });
	const strokes = await page.evaluate(() => [...document.querySelectorAll("[data-pipe], [data-pipe] path")].map((x) => x.style.stroke).filter(Boolean));
	assert.ok(strokes.length > 0 && strokes.every((x) => x === "rgb(222, 228, 236)"), `pipes of an idle machine are ${[...new Set(strokes)]}`);
});
await studio.kill();
