// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The live view over the answers that a kernel has given: it moves, a parameter is set and written down, a switch shows its difference; axe.
import assert from "node:assert/strict";
import { join } from "node:path";
import { browse, findings, serve, view } from "./browser.mjs";
import { replay } from "./replay.mjs";

const shots = process.argv[2];
const studio = await serve(["decentral"]);
const socket = join(studio.folder, "live.sock");
const kernel = await replay(socket);
await browse("live", shots, async (t) => {
	const page = await t.page(studio.address);
	t.step = "attach";
	await view(page, "live");
	await page.getByLabel("control socket of runweir live").fill(socket);
	await page.getByRole("button", { name: "Attach" }).click();
	await page.locator("#view-live g.box").first().waitFor();
	await t.until(page, "numbers move on the pipes", () => [...document.querySelectorAll("#view-live .pipe-label")].some((l) => /\/s/.test(l.textContent)));
	assert.match(await page.locator("#view-live .clock").innerText(), /worksteal in charge for /);
	t.step = "parameter";
	const value = page.getByLabel("round_robin slice", { exact: true });
	await value.fill("2ms");
	await value.press("Enter");
	await t.until(page, "it is a step of the scenario", () => /= 2ms/.test(document.querySelector("#view-live [aria-label='recorded scenario']").textContent));
	t.step = "difference";
	await page.getByLabel("topology to switch to").fill("decentral");
	await page.getByRole("button", { name: "Show the difference" }).click();
	await page.getByLabel("what a switch would change").filter({ hasText: "work_stealing" }).waitFor();
	await page.waitForTimeout(1500);
	await t.until(page, "numbers move on", () => [...document.querySelectorAll("#view-live .pipe-label")].some((l) => /\/s/.test(l.textContent)));
	await t.shot(page, "live-view");
	assert.deepEqual(await findings(page), []);
	t.step = "gone";
	kernel.close();
	t.expected = /ERR_/;
	await t.until(page, "it says so", () => /not attached|connection lost/.test(document.querySelector("#view-live .clock").textContent));
});
await studio.kill();
