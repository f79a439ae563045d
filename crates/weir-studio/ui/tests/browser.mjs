// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A browser with the studio in it, and what all tests do there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A studio of its own, in a folder of its own; `$RUNWEIR` is the program. */
export async function serve(args = [], folder = mkdtempSync(join(tmpdir(), "studio-files-")), command = "studio") {
	const child = spawn(process.env.RUNWEIR ?? "runweir", [command, ...args], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
	const address = await new Promise((done, failed) => {
		let text = "";
		child.stdout.on("data", (bytes) => { text += bytes; if (text.includes("\n")) done(text.trim()); });
		child.on("exit", (code) => failed(new Error(`studio ended with status ${code}`)));
	});
	const ended = new Promise((done) => child.on("exit", done));
	return { address, folder, kill: async (signal = "SIGTERM") => { child.kill(signal); await ended; } };
}

/** Run `test` with a context of pages; what goes wrong in them fails it. */
export async function browse(name, shots, test) {
	const user = mkdtempSync(join(tmpdir(), "studio-"));
	const context = await chromium.launchPersistentContext(user, { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, viewport: { width: 1440, height: 900 }, args: ARGS });
	const t = { step: "start", wrong: [], expected: null };
	t.page = async (address) => {
		const page = await context.newPage();
		page.setDefaultTimeout(Number(process.env.PATIENCE ?? 60000));
		const said = (text) => { if (!t.expected?.test(text)) t.wrong.push(`${t.step}: ${text}`); };
		page.on("console", (m) => { if (m.type() === "error") said(m.text()); });
		page.on("pageerror", (e) => said(e.stack ?? e.message));
		page.on("response", (r) => { if (r.status() >= 400) said(`${r.status()} ${r.url().replace(/token=\w+/, "token=…")}`); });
		page.on("dialog", (d) => void (d.type() === "prompt" ? d.accept(t.answer ?? d.defaultValue()) : d.accept()).catch(() => {}));
		if (address) { await page.goto(address); await page.locator("#view-edit g.box").first().waitFor({ state: "attached" }); }
		return page;
	};
	t.shot = async (page, file) => { if (shots) await page.screenshot({ path: join(shots, file + ".png") }); };
	t.until = (page, what, f, arg) => page.waitForFunction(f, arg).catch(() => assert.fail(what));
	try {
		await test(t);
		assert.deepEqual(t.wrong, [], "nothing is wrong in the console");
		console.log(`studio: ${name}: passed`);
	} catch (e) {
		console.error(`studio: ${name}: step ${t.step}: ${e.message}`);
		t.wrong.forEach((x) => console.error("  " + x));
		process.exitCode = 1;
		if (shots) await context.pages().at(-1)?.screenshot({ path: join(shots, "failed.png") }).catch(() => {});
	} finally {
		await context.close();
		rmSync(user, { recursive: true, force: true });
	}
}

export const view = (page, name) => page.locator(`[role=tab][data-view=${name}]`).click();
export const text = (page) => page.evaluate(() => window.studio.app.editor.text());

/** Serious and critical findings of axe in what is shown. */
export async function findings(page) {
	await page.evaluate(AXE);
	return page.evaluate(async () => {
		const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
		return violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")}`);
	});
}
