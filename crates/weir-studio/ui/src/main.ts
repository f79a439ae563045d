// SPDX-License-Identifier: MIT OR GPL-2.0-only
import { App } from "./app";
import { call, h, onLost, report, toast } from "./dom";
import { EditView } from "./edit";
import { makeEditor } from "./editor";
import { Learn } from "./learn";
import { LiveView } from "./live";
import { Results } from "./results";
import { RunView } from "./run";
import type { Hello } from "./types";

const FIRST = "// One balancer, a round-robin queue for each CPU.\nannotate affinity;\nentry -> load_balancer -> each cpu { round_robin(slice = 3ms) -> cpu };\n";

async function start(): Promise<void> {
	const app = new App();
	app.hello = await call<Hello>("/api/hello");
	const list = (id: string, names: string[]): HTMLElement => h("datalist", { id }, ...names.map((value) => h("option", { value })));
	const tabs = h("nav", { class: "tabs", role: "tablist", "aria-label": "views" });
	const body = h("main", {});
	const file = h("span", { class: "file" });
	const lostBar = h("div", { class: "lostbar", role: "alert", hidden: true }, "The studio does not answer. Your text is kept in this page; start `runweir studio` again with the same --port.");
	document.getElementById("studio")!.append(
		h("a", { class: "skip", href: "#edit", onclick: (e: Event) => { e.preventDefault(); show("edit"); edit.text.querySelector<HTMLElement>(".cm-content")?.focus(); } }, "Skip to the text"),
		h("header", { class: "top" }, h("span", { class: "brand" }, h("span", { class: "dot", "aria-hidden": "true" }), "runweir", h("b", {}, "studio")), tabs, file, h("button", { class: "tool theme", "aria-label": "light or dark", title: "light or dark", onclick: theme }, "◐")),
		lostBar, body, list("machines", [...app.hello.presets, ...app.hello.machines.map((m) => m.name)]), list("workloads", [...app.hello.workloads.map((w) => w.name), ...app.hello.generators]), list("topologies", app.hello.topologies.map((t) => t.name)), list("costs", ["default", "zero", "workload"]));
	onLost((gone) => { lostBar.hidden = !gone; });

	const views = new Map<string, HTMLElement>();
	const show = (name: string): void => {
		views.forEach((v, k) => { v.hidden = k !== name; });
		tabs.querySelectorAll("button").forEach((b) => { const on = b.dataset.view === name; b.setAttribute("aria-selected", String(on)); b.tabIndex = on ? 0 : -1; });
		if (location.hash !== "#" + name) history.replaceState(null, "", "#" + name);
		app.notify();
	};
	const run = new RunView(app);
	const edit = new EditView(app, () => { show("run"); void run.begin(); });
	app.editor = makeEditor(edit.text, app.hello.components, () => app.changed(), (at) => edit.follow(at));
	const learn = new Learn(app, show);
	const live = new LiveView(app);
	const add = (name: string, title: string, root: HTMLElement): void => {
		root.id = "view-" + name;
		root.setAttribute("role", "tabpanel");
		root.setAttribute("aria-label", title);
		views.set(name, root);
		body.append(root);
		tabs.append(h("button", { role: "tab", "data-view": name, "aria-controls": root.id, onclick: () => show(name) }, title));
	};
	add("edit", "Editor", edit.root);
	add("run", "Run", run.root);
	add("live", "Live", live.root);
	add("learn", "Learn", learn.root);
	if (app.hello.results.length) add("results", "Results", new Results(app).root);
	tabs.addEventListener("keydown", (e) => {
		const all = [...tabs.querySelectorAll("button")], i = all.indexOf(document.activeElement as HTMLButtonElement);
		const to = e.key === "ArrowRight" ? all[(i + 1) % all.length] : e.key === "ArrowLeft" ? all[(i + all.length - 1) % all.length] : null;
		if (to && i >= 0) { e.preventDefault(); to.focus(); to.click(); }
	});
	app.on(() => { file.textContent = (app.path ?? app.name.replace("catalogue:/topologies/", "catalogue: ")) + (app.dirty ? " •" : ""); document.title = (app.dirty ? "• " : "") + "Runweir studio"; });
	document.addEventListener("keydown", (e) => {
		if (!(e.ctrlKey || e.metaKey)) return;
		if (e.key === "s") { e.preventDefault(); void edit.save(e.shiftKey); }
		else if (e.key === "Enter") { e.preventDefault(); show("run"); void run.begin(); }
		else if (e.key === "z" && !(e.target as Element).closest("input:not([type=range]),.cm-editor")) { e.preventDefault(); if (e.shiftKey) app.editor.redo(); else app.editor.undo(); }
	});
	// Text without a file is work, too: the browser asks, and a reload finds it again.
	addEventListener("beforeunload", (e) => { if (app.dirty) e.preventDefault(); });
	const f = app.hello.file;
	app.load(f?.name ?? "my.weir", f?.text ?? FIRST, f?.path ?? null, f?.mark ?? null);
	drafts(app);
	const wanted = location.hash.slice(1);
	show(views.has(wanted) ? wanted : app.hello.results.length ? "results" : "edit");
	Object.assign(window, { studio: { app, run, edit } });
}

/** Unsaved text is kept for this tab, by its file, until it is saved. */
function drafts(app: App): void {
	const key = (): string => "draft:" + (app.path ?? app.name);
	try {
		const kept = sessionStorage.getItem(key());
		if (kept !== null && kept !== app.editor.text()) {
			app.editor.apply([{ from: 0, to: app.editor.text().length, insert: kept }]);
			void app.look();
			toast("your unsaved text is back", ["Undo shows the file as it is"], false);
		}
	} catch { /* not kept */ }
	app.on(() => {
		try {
			if (app.dirty) sessionStorage.setItem(key(), app.editor.text()); else sessionStorage.removeItem(key());
		} catch { /* not kept */ }
	});
}

function theme(): void {
	const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	document.documentElement.dataset.theme = dark ? "light" : "dark";
	try { localStorage.setItem("theme", document.documentElement.dataset.theme); } catch { /* not kept */ }
	dispatchEvent(new Event("resize"));
}
try { const kept = localStorage.getItem("theme"); if (kept) document.documentElement.dataset.theme = kept; } catch { /* none */ }
start().catch((e) => { report(e); toast(String((e as Error).message)); });
