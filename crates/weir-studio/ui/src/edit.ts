// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The editor: palette, text, graph, and what is selected.
import type { App } from "./app";
import { call, h, put, report, toast, Wrong } from "./dom";
import { Graph } from "./graph";
import type { Box, Component, Opened, Param } from "./types";

const CLASSES: [string, string][] = [["order", "Order: which task goes first"], ["distribute", "Distribute: to which pipe"], ["filter", "Filter: which tasks may pass"], ["merge", "Merge: join pipes"], ["annotate", "Annotate: keep what is known"], ["service", "Service"]];

/** Not policies: they measure, mark or misbehave on purpose. */
const AIDS = ["burn", "depth", "rusty", "watermark"];
/** Where a newcomer begins in the catalogue. */
const FIRST = ["decentral", "central", "priority", "worksteal", "edf", "linux"];

const ports = ([a, b]: [number, number]): string => (b === 0 ? "none" : b > 1e9 ? (a ? `${a} or more` : "any number") : a === b ? String(a) : `${a} to ${b}`);

export class EditView {
	readonly root: HTMLElement;
	private graph: Graph;
	private inspector = h("section", { class: "inspector", "aria-label": "selected part" });
	private outline = h("nav", { class: "outline", "aria-label": "outline of the topology" });
	private findings = h("ul", { class: "findings", "aria-label": "findings", role: "list" });
	private status = h("p", { class: "status", role: "status", "aria-live": "polite" });
	private machine: HTMLInputElement;
	private joining = -1;
	readonly text = h("div", { class: "text" });

	constructor(private app: App, run: () => void) {
		this.graph = new Graph({
			box: (i, user) => this.pickBox(i, user),
			line: () => { this.inspect(); this.revealLine(); },
			drop: (line, component) => void this.insert(line, component),
			dropFree: (component) => void this.add(component),
			key: (e, i) => { if (e.key === "Delete" || e.key === "Backspace") { e.preventDefault(); void this.remove(i); } },
		});
		this.machine = h("input", { list: "machines", value: app.machine, "aria-label": "machine to expand the graph for", onchange: () => { app.machine = this.machine.value.trim(); void app.look(); } });
		const bar = h("div", { class: "bar" },
			h("button", { onclick: () => this.openDialog() }, "Open…"),
			h("button", { onclick: () => void this.save(false) }, "Save"),
			h("button", { onclick: () => void this.save(true) }, "Save as…"),
			h("span", { class: "gap" }),
			h("button", { title: "undo, in text and graph alike (Ctrl+Z)", onclick: () => app.editor.undo() }, "Undo"),
			h("button", { title: "redo (Ctrl+Y)", onclick: () => app.editor.redo() }, "Redo"),
			h("button", { title: "lay the text out as `runweir fmt` does", onclick: () => void this.format() }, "Format"),
			h("span", { class: "gap" }),
			h("label", {}, "on ", this.machine),
			h("span", { class: "spring" }), this.status,
			h("button", { class: "primary", onclick: run }, "Run ▸"));
		this.root = h("div", { class: "view edit" }, bar, h("div", { class: "desk" },
			this.palette(),
			h("section", { class: "source", "aria-label": "text" }, this.text, this.findings),
			h("section", { class: "drawing", "aria-label": "graph" }, this.graph.root, h("div", { class: "under" }, this.inspector, this.outline))));
		app.on(() => this.refresh());
	}

	private palette(): HTMLElement {
		const list = h("div", { class: "list" });
		const search = h("input", { type: "search", placeholder: "find a component", "aria-label": "find a component" });
		const fill = (): void => {
			const word = search.value.toLowerCase();
			list.replaceChildren(...[...CLASSES, ["aid", "Measuring aids"] as [string, string]].map(([cls, title]) => {
				const items = this.app.hello.components.filter((c) => (AIDS.includes(c.name) ? "aid" : c.class) === cls && c.name !== "termination" && (c.name.includes(word) || c.summary.toLowerCase().includes(word)));
				return items.length ? h("div", { class: "kind " + cls }, h("h3", {}, title), ...items.sort((a, b) => a.name.localeCompare(b.name)).map((c) => this.chip(c))) : null;
			}).filter((x): x is HTMLDivElement => x !== null));
			// One stop of Tab; arrows go from chip to chip.
			chips().forEach((c, i) => { c.tabIndex = i ? -1 : 0; });
		};
		const chips = (): HTMLButtonElement[] => [...list.querySelectorAll<HTMLButtonElement>(".chip")];
		list.addEventListener("keydown", (e) => {
			const all = chips(), i = all.indexOf(document.activeElement as HTMLButtonElement);
			const to = { ArrowDown: i + 1, ArrowRight: i + 1, ArrowUp: i - 1, ArrowLeft: i - 1, Home: 0, End: all.length - 1 }[e.key];
			if (i < 0 || to === undefined || !all[to]) return;
			e.preventDefault();
			all[i].tabIndex = -1;
			all[to].tabIndex = 0;
			all[to].focus();
		});
		search.addEventListener("input", fill);
		fill();
		return h("aside", { class: "palette", "aria-label": "components" }, h("h2", {}, "Components"), search, list);
	}

	private chip(c: Component): HTMLElement {
		const chip = h("button", { class: "chip", draggable: "true", title: c.summary, onclick: () => this.manual(c) }, c.name);
		chip.addEventListener("dragstart", (e) => e.dataTransfer?.setData("text/x-component", c.name));
		return chip;
	}

	private manual(c: Component): void {
		const line = this.graph.selectedLine;
		const annotator = c.ins[1] === 0 && c.outs[1] === 0;
		put(this.inspector,
			h("header", { class: c.class }, h("h2", {}, c.name), h("span", { class: "tag" }, c.class),
				h("button", { class: "primary", onclick: () => void this.add(c.name) }, annotator ? "Annotate with it" : "Add to the graph"),
				line >= 0 && !annotator ? h("button", { onclick: () => void this.insert(line, c.name) }, "Insert into the selected pipe") : null),
			h("p", {}, c.summary + "."),
			h("dl", { class: "facts" }, h("dt", {}, "pipes in"), h("dd", {}, ports(c.ins)), h("dt", {}, "pipes out"), h("dd", {}, ports(c.outs)),
				...(["asks", "answers", "listens", "publishes"] as const).flatMap((k) => c[k].length ? [h("dt", {}, k), h("dd", {}, c[k].join(", "))] : [])),
			c.shown.length ? h("table", {}, h("thead", {}, h("tr", {}, ...["parameter", "default", "range", "meaning"].map((x) => h("th", { scope: "col" }, x)))),
				h("tbody", {}, ...c.shown.map((p) => h("tr", {}, h("td", {}, h("code", {}, p.name)), h("td", {}, p.default), h("td", {}, p.max ? `${p.min} to ${p.max}` : `from ${p.min}`), h("td", {}, p.help))))) : null,
			h("pre", { class: "manual", tabindex: 0, "aria-label": "manual of " + c.name }, c.manual), h("p", { class: "soft" }, c.source));
	}

	private pickBox(i: number, user: boolean): void {
		const b = this.app.sheet?.picture?.boxes[i];
		if (!b) return;
		if (this.joining >= 0 && user) {
			const from = this.app.sheet?.picture?.boxes[this.joining];
			this.joining = -1;
			this.graph.root.classList.remove("joining");
			if (from?.at && b.at) void this.app.act({ do: "join", at: from.at[0], to: b.at[0] });
			return;
		}
		this.inspect();
		if (b.at && !this.app.editor.view.hasFocus) this.app.editor.reveal(b.at[0], b.at[1]);
	}

	private revealLine(): void {
		const l = this.app.sheet?.picture?.lines[this.graph.selectedLine];
		if (l?.at) this.app.editor.reveal(l.at[0], l.at[1]);
	}

	/** The part of the graph that the cursor in the text stands in. */
	follow(at: number): void {
		const i = this.app.sheet?.picture?.boxes.findIndex((b) => b.at && b.at[0] <= at && at <= b.at[1]) ?? -1;
		if (i >= 0 && i !== this.graph.selected) { this.graph.pick(i); this.inspect(); }
	}

	private async insert(line: number, component: string): Promise<void> {
		const l = this.app.sheet?.picture?.lines[line];
		const c = this.app.hello.components.find((x) => x.name === component);
		if (!l || !c) return;
		if (c.ins[1] === 0) { await this.add(component); return; }
		if (!l.at) { toast("this pipe is in another file", ["open that file to change it"]); return; }
		await this.app.act({ do: "insert", at: l.at[0], component });
	}

	private async add(component: string): Promise<void> { await this.app.act({ do: "add", component }); }

	private async remove(i: number): Promise<void> {
		const b = this.app.sheet?.picture?.boxes[i];
		if (!b?.at) { toast("this part is in another file", ["open that file to change it"]); return; }
		if (await this.app.act({ do: "remove", at: b.at[0] })) this.graph.focusBox(Math.max(0, i - 1));
	}

	private refresh(): void {
		const { sheet, stale } = this.app;
		if (document.activeElement !== this.machine) this.machine.value = this.app.machine;
		this.graph.show(sheet?.picture ?? null, stale);
		if (!sheet) return;
		this.graph.mark(sheet.findings);
		const errors = sheet.findings.filter((f) => f.error).length;
		this.status.className = "status " + (sheet.complete ? "good" : "bad");
		this.status.textContent = sheet.complete && sheet.size
			? `✓ ${sheet.size[0].toLocaleString()} instances, ${sheet.size[1].toLocaleString()} pipes on ${sheet.machine}`
			: `${errors} ${errors === 1 ? "error" : "errors"}${stale ? ": the graph is that of the last text that could be read" : ""}`;
		this.findings.replaceChildren(...sheet.findings.map((f) => h("li", { class: f.error ? "error" : "warning" },
			h("button", { onclick: () => { if (f.labels.length) this.app.editor.reveal(f.labels[0][0], f.labels[0][1], true); } },
				h("span", { class: "where" }, f.file ? f.file : f.at ? `${f.at[0]}:${f.at[1]}` : ""), h("span", {}, f.message), f.help ? h("span", { class: "help" }, f.help) : null))));
		this.drawOutline();
		if (!this.inspector.contains(document.activeElement)) this.inspect();
	}

	private drawOutline(): void {
		const p = this.app.sheet?.picture;
		if (!p) { this.outline.replaceChildren(); return; }
		if (this.outline.contains(document.activeElement)) return;
		const label = (b: Box): string => b.title + (b.count > 1 ? ` ×${b.count}` : "");
		const pipe = (i: number): HTMLElement => {
			const l = p.lines[i];
			return h("button", { onclick: () => { this.graph.pickLine(i); this.inspect(); this.revealLine(); } }, `${l.postponed ? "⇝" : "→"} ${label(p.boxes[l.to])}`);
		};
		this.outline.replaceChildren(h("h3", {}, "Outline"), h("ul", {}, ...p.boxes.map((b, i) => {
			const out = p.lines.map((l, k) => [l, k] as const).filter(([l]) => l.from === i);
			return h("li", {}, h("button", { class: "node " + b.style, onclick: () => { this.graph.pick(i); this.pickBox(i, true); } }, label(b), b.detail ? h("small", {}, b.detail) : null),
				out.length ? h("ul", {}, ...out.map(([, k]) => h("li", {}, pipe(k)))) : null);
		})));
	}

	private inspect(): void {
		const p = this.app.sheet?.picture;
		if (p && this.graph.selected >= 0) this.inspectBox(p.boxes[this.graph.selected], this.graph.selected);
		else if (p && this.graph.selectedLine >= 0) this.inspectLine(this.graph.selectedLine);
		else if (!this.inspector.querySelector(".manual")) this.inspector.replaceChildren(h("p", { class: "hint" }, "Select a box or a pipe; drag a component from the left onto a pipe, or press Enter on it for its manual. Arrow keys walk along the graph, Delete removes."));
	}

	private inspectLine(i: number): void {
		const p = this.app.sheet!.picture!, l = p.lines[i];
		const choose = h("select", { "aria-label": "component to insert" }, ...this.app.hello.components.filter((c) => c.ins[1] > 0 && c.outs[1] > 0).map((c) => c.name).sort().map((n) => h("option", {}, n)));
		const place = l.at;
		put(this.inspector,
			h("header", {}, h("h2", {}, `${p.boxes[l.from].title} ${l.postponed ? "~>" : "->"} ${p.boxes[l.to].title}`), h("span", { class: "tag" }, l.count === 1 ? "a pipe" : `${l.count} pipes`)),
			place ? h("div", { class: "row" }, choose, h("button", { onclick: () => void this.insert(i, choose.value) }, "Insert"),
				h("label", {}, h("input", { type: "checkbox", checked: l.postponed, onchange: (e: Event) => void this.app.act({ do: "postpone", at: place[0], postponed: (e.target as HTMLInputElement).checked }) }), " postponed: changes wait until an exit is asked"),
				h("button", { onclick: () => void this.app.act({ do: "cut", at: place[0] }) }, "Cut")) : h("p", {}, "This pipe is in an included file."));
	}

	private inspectBox(b: Box, i: number): void {
		const c = this.app.hello.components.find((x) => x.name === b.component);
		const place = b.at;
		const values = new Map(b.params);
		const rows = c?.shown.map((p) => this.param(p, values.get(p.name), (value) => { if (place) void this.app.act({ do: "set", at: place[0], param: p.name, value }); }, !place)) ?? [];
		const same = c ? this.app.hello.components.filter((x) => x.class === c.class && x.name !== "termination").map((x) => x.name).sort() : [];
		const name = h("input", { value: b.name.replace(/@.*$/, "").split("/").pop() ?? "", "aria-label": "name of the instance" });
		name.addEventListener("change", () => { if (place) void this.app.act({ do: "rename", at: place[0], name: name.value.trim() }); });
		put(this.inspector,
			h("header", { class: b.style }, h("h2", {}, b.title), h("span", { class: "tag" }, b.kind === "component" || b.kind === "annotator" ? c?.class ?? "unknown" : b.kind),
				b.count > 1 ? h("span", { class: "tag" }, `one for each ${b.each || "copy"}: ${b.count}`) : null,
				c ? h("button", { onclick: () => this.manual(c) }, "Manual") : null,
				place ? h("button", { onclick: () => { this.joining = i; this.graph.root.classList.add("joining"); toast("choose the box that the new pipe leads to", [], false); } }, "Pipe to…") : null,
				place ? h("button", { class: "danger", onclick: () => void this.remove(i) }, "Remove") : null),
			c ? h("p", {}, c.summary + ".") : h("p", {}, b.kind === "entry" ? "Where tasks come in." : b.kind === "cpus" ? "Where CPUs take their tasks." : "There is no such component."),
			h("dl", { class: "facts" }, ...(c ? [h("dt", {}, "component"), h("dd", {}, h("select", { "aria-label": "component", disabled: !place, onchange: (e: Event) => { if (place) void this.app.act({ do: "exchange", at: place[0], component: (e.target as HTMLSelectElement).value }); } }, ...same.map((n) => h("option", { selected: n === c.name }, n)))),
				h("dt", {}, "name"), h("dd", {}, name), h("dt", {}, "pipes"), h("dd", {}, `in ${ports(c.ins)}, out ${ports(c.outs)}`)] : []),
				h("dt", {}, "CPUs"), h("dd", {}, b.cpus || "none")),
			rows.length ? h("div", { class: "params" }, ...rows) : c ? h("p", { class: "soft" }, "It has no parameters.") : null,
			place ? null : h("p", { class: "soft" }, "It stands in an included file: open that file to change it."));
	}

	private param(p: Param, value: string | undefined, set: (v: string | null) => void, fixed: boolean): HTMLElement {
		const id = "p-" + p.name;
		const reset = h("button", { class: "tool", title: "back to the default, " + p.default, "aria-label": `reset ${p.name} to its default`, disabled: value === undefined || fixed, onclick: () => set(null) }, "↺");
		const range = p.unit === "flag" ? "" : p.max ? `${p.min} to ${p.max}` : `from ${p.min}`;
		if (p.unit === "flag") {
			const on = (value ?? p.default) === "true";
			return h("div", { class: "param" }, h("label", { for: id }, p.name), h("input", { id, type: "checkbox", checked: on, disabled: fixed, onchange: (e: Event) => set((e.target as HTMLInputElement).checked ? "true" : "false") }), reset, h("small", {}, p.help));
		}
		const input = h("input", { id, class: "value", value: value ?? p.default, disabled: fixed });
		input.addEventListener("change", () => set(input.value.trim() || null));
		const slider = p.range ? sliderFor(p, value ?? p.default, (text, end) => { input.value = text; if (end) set(text); }) : null;
		if (slider) slider.disabled = fixed;
		return h("div", { class: "param" + (value === undefined ? "" : " given") }, h("label", { for: id }, p.name), input, slider, reset, h("small", {}, `${p.help} (${range})`));
	}

	private openDialog(): void {
		const path = h("input", { placeholder: "path/to/file.weir", "aria-label": "path of a file" });
		const open = async (name: string): Promise<void> => {
			if (this.app.dirty && !confirm("The text has changes that are not saved. Open another one?")) return;
			try {
				const o = await call<Opened>("/api/open", { name });
				this.app.load(o.name, o.text, o.path, o.mark);
				dialog.close();
			} catch (e) { report(e); }
		};
		const search = h("input", { type: "search", placeholder: "find in the catalogue", "aria-label": "find in the catalogue" });
		const list = h("ul", { class: "catalogue" });
		const entry = (t: { name: string; summary: string }): HTMLElement => h("li", {}, h("button", { onclick: () => void open(t.name) }, h("strong", {}, t.name), h("span", {}, t.summary)));
		const fill = (): void => {
			const all = this.app.hello.topologies.filter((t) => (t.name + t.summary).toLowerCase().includes(search.value.toLowerCase()));
			const first = FIRST.map((n) => all.find((t) => t.name === n)).filter((t) => t !== undefined);
			const heading = (text: string): HTMLElement => h("li", { class: "heading" }, h("h3", {}, text));
			list.replaceChildren(...(first.length ? [heading("Start here"), ...first.map(entry), heading("All")] : []), ...all.filter((t) => !first.includes(t)).map(entry));
		};
		search.addEventListener("input", fill);
		fill();
		const dialog = h("dialog", { "aria-label": "open a topology" }, h("h2", {}, "Open"), h("form", { class: "row", onsubmit: (e: Event) => { e.preventDefault(); void open(path.value); } }, path, h("button", {}, "Open file")), search, list, h("button", { class: "close", onclick: () => dialog.close() }, "Cancel"));
		dialog.addEventListener("close", () => dialog.remove());
		document.body.append(dialog);
		dialog.showModal();
	}

	async save(as: boolean, force = false): Promise<void> {
		const app = this.app;
		let path = app.path, mark = app.fileMark;
		if (as || !path) {
			path = prompt("Save as (a path that ends in .weir)", path ?? "my.weir");
			if (!path) return;
			if (path !== app.path) mark = null;
		}
		const text = app.editor.text();
		try {
			app.fileMark = await call<string>("/api/save", { path, text, mark, force });
			[app.path, app.name, app.saved] = [path, path, text];
			toast(`saved as ${path}`, app.sheet && !app.sheet.complete ? ["it has errors, which `runweir check` reports as well"] : [], false);
			app.notify();
		} catch (e) {
			if (e instanceof Wrong && e.status === 422 && /changed on disk|exists already/.test(e.message) && confirm(e.message.replace(/`/g, "") + ".\nOverwrite it?")) await this.saveForced(path);
			else report(e);
		}
	}

	private async saveForced(path: string): Promise<void> {
		try {
			const text = this.app.editor.text();
			this.app.fileMark = await call<string>("/api/save", { path, text, mark: null, force: true });
			[this.app.path, this.app.name, this.app.saved] = [path, path, text];
			toast(`saved as ${path}`, [], false);
			this.app.notify();
		} catch (e) { report(e); }
	}

	private async format(): Promise<void> {
		try {
			const text = this.app.editor.text();
			const after = await call<string>("/api/format", { text });
			if (after !== text) this.app.editor.apply([{ from: 0, to: text.length, insert: after }]);
		} catch (e) { report(e); }
	}
}

const UNITS: Record<string, [string, number][]> = {
	ns: [["min", 60e9], ["s", 1e9], ["ms", 1e6], ["us", 1e3], ["µs", 1e3], ["ns", 1]],
	bytes: [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024], ["B", 1], ["", 1]],
	count: [["", 1]], pct: [["%", 1]],
};
export function parseValue(text: string, unit: string): number {
	const m = /^([\d._]+)\s*(\D*)$/.exec(text.trim());
	const scale = m && UNITS[unit]?.find(([u]) => u === m[2].trim())?.[1];
	return m && scale ? Number(m[1].replaceAll("_", "")) * scale : NaN;
}
export function showValue(n: number, unit: string): string {
	if (unit === "pct") return Math.round(n) + "%";
	if (unit === "count") return String(Math.round(n));
	const units = unit === "ns" ? UNITS.ns.filter(([u]) => u !== "µs" && u !== "min") : UNITS.bytes.filter(([u]) => u !== "B");
	// Two figures are as fine as a slider is.
	const digits = Math.max(0, Math.floor(Math.log10(Math.max(1, n))) - 1);
	const round = unit === "ns" ? Math.round(n / 10 ** digits) * 10 ** digits : Math.round(n);
	const [u, scale] = units.find(([, k]) => round >= k && round % k === 0) ?? units[units.length - 1];
	return round / scale + u;
}
/** A slider over a parameter's range: by orders of magnitude where it spans several. */
export function sliderFor(p: Param, value: string, moved: (text: string, end: boolean) => void): HTMLInputElement {
	const [min, max] = p.range!;
	const log = max / Math.max(1, min) > 100;
	const low = Math.log(Math.max(1, min)), high = Math.log(Math.max(2, max));
	const to = (v: number): number => (log ? ((Math.log(Math.max(1, v)) - low) / (high - low)) * 1000 : ((v - min) / (max - min)) * 1000);
	const from = (x: number): number => Math.min(max, Math.max(min, log ? Math.exp(low + (x / 1000) * (high - low)) : min + (x / 1000) * (max - min)));
	const slider = h("input", { type: "range", min: 0, max: 1000, step: log ? 10 : 1, "aria-label": p.name, value: to(parseValue(value, p.unit) || min) });
	const say = (): string => { const text = showValue(from(Number(slider.value)), p.unit); slider.setAttribute("aria-valuetext", text); return text; };
	say();
	slider.addEventListener("input", () => moved(say(), false));
	slider.addEventListener("change", () => moved(say(), true));
	return slider;
}
