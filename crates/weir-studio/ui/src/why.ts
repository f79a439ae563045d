// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Why a task waited: the chain of causes, beside what was clicked.
import { call, h, ns, report, words } from "./dom";
import type { Explanation } from "./types";

/** A wait: of which task (a name, or # and its number), until when, how long; 0: what the task did at that time. */
export interface Wait { task: string; at_ns: number; ns: number }

export class Why {
	readonly root = h("section", { class: "why", hidden: true, tabindex: -1, "aria-live": "polite", "aria-label": "why it waited" });
	private asked = 0;

	/** @param go Take the run to a moment, where that is possible. */
	constructor(private go: ((ns: number) => void) | null = null) {}

	clear(): void { this.asked++; this.root.hidden = true; this.root.replaceChildren(); }

	async ask(path: string, wait: Wait): Promise<void> {
		const mine = ++this.asked;
		this.root.hidden = false;
		this.root.replaceChildren(h("p", { class: "soft" }, "The run is made again up to that moment, with its causes…"));
		try {
			const why = await call<Explanation>(path, wait);
			if (mine === this.asked) { this.draw(why); this.root.focus(); }
		} catch (e) { if (mine === this.asked) this.clear(); report(e); }
	}

	private draw(w: Explanation): void {
		const place = (t: number): HTMLElement | string => this.go ? h("button", { class: "link", title: "take the run there", onclick: () => this.go!(t) }, ns(t)) : ns(t);
		this.root.replaceChildren(
			h("header", {}, h("h3", {}, `Why ${w.task.name} waited for ${ns(w.ns)}`), h("span", { class: "soft" }, "from ", place(w.from_ns), " to ", place(w.to_ns)),
				h("button", { class: "tool", "aria-label": "close the explanation", onclick: () => this.clear() }, "×")),
			h("p", {}, ...words(w.text)),
			h("ul", { class: "causes", "aria-label": "causes by time" }, ...w.causes.map((c) => h("li", {}, h("span", { class: "part", style: `width:${(c.share * 100).toFixed(1)}%` }), h("span", {}, `${c.kind}: ${ns(c.ns)}, ${c.share < 0.01 ? "less than 1" : (c.share * 100).toFixed(0)} %`)))),
			h("details", {}, h("summary", {}, `All ${w.steps.length} steps`), h("ol", { class: "steps" }, ...w.steps.map((s) => h("li", { style: `margin-left:${s.depth * 16}px` }, place(s.from_ns), " ", ...words(s.text))))),
			...w.notes.map((n) => h("p", { class: "soft" }, n)));
	}
}

/** Clicks on a report's timeline, which is a page of its own in `frame`. */
export function onMoment(frame: HTMLIFrameElement, f: (wait: Wait) => void): () => void {
	const hear = (e: MessageEvent): void => {
		const m = e.data as { runweir?: unknown; task?: unknown; at?: unknown };
		if (e.source !== frame.contentWindow || m?.runweir !== "moment" || !Number.isSafeInteger(m.task) || !Number.isFinite(m.at)) return;
		f({ task: "#" + m.task, at_ns: Math.max(0, Math.round(m.at as number)), ns: 0 });
	};
	addEventListener("message", hear);
	return () => removeEventListener("message", hear);
}
