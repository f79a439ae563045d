// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Finished runs: the reports that they were written with, and their traces.
import type { App } from "./app";
import { h, ns, withToken } from "./dom";
import { onMoment, Why } from "./why";

export class Results {
	readonly root: HTMLElement;
	constructor(app: App) {
		const frame = h("iframe", { title: "report", sandbox: "allow-scripts allow-downloads" });
		const why = new Why();
		let shown = 0;
		onMoment(frame, (wait) => { if (app.hello.results[shown].trace) void why.ask(`/api/results/${shown}/explain`, wait); });
		const list = h("nav", { class: "list", "aria-label": "finished runs" }, h("h2", {}, "Finished runs"), ...app.hello.results.map((r, i) => h("div", { class: "result" },
			h("button", { onclick: (e: Event) => open(i, e.currentTarget as HTMLElement) }, h("strong", {}, r.topology || r.name), h("span", {}, [r.workload, r.machine].filter(Boolean).join(" on ")), h("small", {}, (r.p99 === null ? "" : "wake-up p99 " + ns(r.p99) + " · ") + r.name)),
			r.trace ? h("a", { href: withToken(`/api/results/${i}/${r.trace}`), download: r.trace }, "trace for Perfetto") : null,
			r.trace && app.hello.perfetto ? h("a", { href: withToken(`/perfetto/?url=${encodeURIComponent(withToken(`/api/results/${i}/${r.trace}`))}`), target: "_blank" }, "open in Perfetto") : null)));
		const open = (i: number, b: HTMLElement): void => {
			shown = i;
			why.clear();
			frame.src = withToken(`/api/results/${i}/report.html`);
			list.querySelectorAll("button").forEach((x) => x.removeAttribute("aria-current"));
			b.setAttribute("aria-current", "true");
		};
		this.root = h("div", { class: "view results" }, list, h("div", { class: "shown" }, why.root, frame));
		const first = list.querySelector("button");
		if (first) open(0, first);
	}
}
