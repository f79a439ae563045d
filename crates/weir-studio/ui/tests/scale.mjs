// SPDX-License-Identifier: MIT OR GPL-2.0-only
// 4,096 CPUs: the page and a run of them. Times are printed, not asserted: they belong to a computer.
import { browse, serve, view } from "./browser.mjs";

const shots = process.argv[2];
const studio = await serve(["partitioned"]);
await browse("4,096 CPUs", shots, async (t) => {
	const page = await t.page();
	t.step = "first paint";
	await page.goto(studio.address);
	await page.locator("#view-edit g.box").first().waitFor();
	const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
	t.step = "graph";
	await page.evaluate(() => { window.studio.app.machine = "smp-4096"; void window.studio.app.look(); });
	const began = Date.now();
	await t.until(page, "the graph is there", () => window.studio.app.sheet?.nr_cpus === 4096);
	const graph = Date.now() - began;
	t.step = "run";
	await page.evaluate(() => { window.studio.app.workload = "bench:cpus=4096,load=60%"; window.studio.app.duration = "400ms"; });
	await view(page, "run");
	await page.locator("#view-run .field.duration input").fill("400ms");
	await page.locator("#view-run .field.workload input").fill("bench:cpus=4096,load=60%");
	await page.locator(".transport select").selectOption("full");
	await page.locator(".setup button.primary").click();
	await t.until(page, "frames arrive", () => (window.studio.run.panes[0]?.frames ?? 0) > 3);
	const rates = await page.evaluate(async () => {
		const pane = window.studio.run.panes[0], from = performance.now(), frames = pane.frames;
		let painted = 0, worst = 0, last = from;
		while (performance.now() - from < 4000 && !pane.state.done) {
			await new Promise(requestAnimationFrame);
			const now = performance.now();
			painted++;
			worst = Math.max(worst, now - last);
			last = now;
		}
		const seconds = (performance.now() - from) / 1000;
		return { updates: (pane.frames - frames) / seconds, painted: painted / seconds, worst };
	});
	await t.shot(page, "4096");
	console.log(`studio: 4,096 CPUs: first paint ${paint.toFixed(0)} ms, graph ${graph} ms; while it streams ${rates.updates.toFixed(0)} updates and ${rates.painted.toFixed(0)} frames a second, the longest frame ${rates.worst.toFixed(0)} ms`);
	t.step = "stop";
	await page.getByRole("button", { name: "Stop" }).click();
	await t.until(page, "it ends with a result", () => window.studio.run.panes[0].state.done);
});
await studio.kill();
