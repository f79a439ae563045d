// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The five tours to their ends: each step is done as its card says, and the card notices.
import assert from "node:assert/strict";
import { join } from "node:path";
import { browse, serve, view } from "./browser.mjs";

const shots = process.argv[2];
const studio = await serve(["decentral"]);
await browse("tours", shots, async (t) => {
	const page = await t.page(studio.address);
	const box = (name) => page.locator("#view-edit g.box", { hasText: name }).first().click();
	const write = (from, to) => page.evaluate(([a, b]) => { const e = window.studio.app.editor; const text = e.text(); e.apply([{ from: text.indexOf(a), to: text.indexOf(a) + a.length, insert: b }]); }, [from, to]);
	const open = (name) => page.evaluate(async (n) => {
		const answer = await fetch("/api/open", { method: "POST", headers: { "x-runweir-token": new URLSearchParams(location.search).get("token"), "content-type": "application/json" }, body: JSON.stringify({ name: n }) });
		const o = await answer.json();
		window.studio.app.load(o.name, o.text, null, null);
	}, name);
	const find = async (word) => { await page.getByLabel("find a component").fill(word); await page.locator(".palette .chip, .palette button", { hasText: word }).first().click(); };
	const run = async (beside = "") => {
		await view(page, "run");
		await page.locator(".transport select").selectOption("full");
		await page.getByLabel("second topology, beside the first").fill(beside);
		await page.locator(".setup button.primary").click();
		await t.until(page, "the run ends", () => window.studio.run.panes.length > 0 && window.studio.run.panes.every((p) => p.state?.done));
	};
	const nothing = () => {};
	const tours = {
		slices: [() => box("round_robin"), () => run(), () => write("20ms", "1ms"), () => run(), () => run("global_rr"), async () => { await open("worksteal"); await page.evaluate(() => { window.studio.app.workload = "hackbench:groups=8,loops=20"; }); await run(); },
			async () => { t.answer = join(studio.folder, "kept.weir"); await view(page, "edit"); await page.keyboard.press("Control+s"); }],
		inversion: [nothing, () => run(), async () => { await page.locator(".worst button.why").first().click(); await page.locator("section.why .causes li").first().waitFor(); }, () => open("fifo")],
		collapse: [nothing, () => run(), () => page.evaluate(() => window.studio.app.editor.load("annotate affinity;\nentry -> load_balancer -> each cpu { round_robin -> cpu };\n")), () => run()],
		gang: [() => find("gang"), async () => { await view(page, "edit"); await box("gang"); }, () => run()],
		component: [() => find("fifo"), () => write("entry -> fifo", "entry -> lcfs -> fifo"), () => write("entry -> lcfs -> fifo", "entry -> fifo"), nothing],
	};
	for (const [id, steps] of Object.entries(tours)) {
		await view(page, "learn");
		await page.locator(`[data-tour=${id}]`).click();
		for (const [i, step] of steps.entries()) {
			t.step = `${id} ${i + 1}`;
			await t.until(page, "the card shows this step", (n) => document.querySelector("aside.tour small")?.textContent.includes(`· ${n} of`), i + 1);
			await t.until(page, "the card covers nothing", () => document.querySelector("main").getBoundingClientRect().bottom <= document.querySelector("aside.tour").getBoundingClientRect().top + 1);
			await t.until(page, "its text is whole", () => window.studio.app.sheet !== null);
			await page.waitForTimeout(300);
			await step();
			await page.locator("aside.tour .ok").waitFor();
			if (i === 1) await t.shot(page, "tour-" + id);
			await page.locator("aside.tour footer button", { hasText: /Next|Finish/ }).click();
		}
		assert.ok(await page.locator("aside.tour").isHidden(), "the tour is over");
	}
});
await studio.kill();
