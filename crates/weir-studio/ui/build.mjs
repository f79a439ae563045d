// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Bundles the page: `node build.mjs [FOLDER]`. The same lock file gives the same bytes.
import { build } from "esbuild";

const out = process.argv[2] ?? "dist";
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
