// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Bundles the page: `node build.mjs [FOLDER]`. The same lock file gives the same bytes; `node build.mjs --check` fails where `dist` has
// others than `src` makes.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

const check = process.argv[2] === "--check";
const out = check ? mkdtempSync(join(tmpdir(), "studio-")) : (process.argv[2] ?? "dist");
await build({
	entryPoints: { studio: "src/main.ts" },
	bundle: true,
	minify: true,
	format: "iife",
	target: "es2022",
	outdir: out,
	legalComments: "none",
	charset: "utf8",
	banner: { js: "// SPDX-License-Identifier: MIT OR GPL-2.0-only, and MIT for CodeMirror (ui/LICENSES). Made by ui/build.mjs." },
	logLevel: "warning",
});
await build({ entryPoints: { studio: "src/style.css" }, bundle: true, minify: true, outdir: out, logLevel: "warning" });
if (check) {
	const differ = readdirSync(out).filter((name) => !readFileSync(join(out, name)).equals(readFileSync(join("dist", name))));
	rmSync(out, { recursive: true });
	if (differ.length) {
		console.error(`dist/${differ.join(", dist/")}: not what src makes; run: node build.mjs`);
		process.exit(1);
	}
}
