// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Five tours that run in the page. A step says what to do and notices when it is done.
import type { App, RunState } from "./app";
import { call, h, put, report, words } from "./dom";
import type { Opened } from "./types";

/** `target`: what the step asks to use; it is scrolled into view. */
interface Step { title: string; text: string; view: "edit" | "run"; target?: string; begin?: (app: App) => Promise<void> | void; done?: (app: App) => boolean; result?: (app: App) => string }
interface Tour { id: string; title: string; about: string; minutes: number; steps: Step[] }

const p99 = (r: RunState | undefined): number => r?.done?.wakeup_latency_ns.p99 ?? 0;
const ms = (t: number): string => (t >= 1e6 ? (t / 1e6).toFixed(1) + " ms" : (t / 1e3).toFixed(1) + " µs");
const last = (app: App): RunState | undefined => app.finished.at(-1);
const load = (text: string, name: string, machine: string, workload: string, duration = "") => (app: App): void => {
	app.load(name, text, null, null);
	app.machine = machine; app.workload = workload; app.duration = duration;
	void app.look();
};
const from = (name: string, machine: string, workload: string, duration = "") => async (app: App): Promise<void> => {
	const o = await call<Opened>("/api/open", { name });
	load(o.text, o.name, machine, workload, duration)(app);
};
const mark = (app: App): void => { app.finished = []; };
const ran = (app: App): boolean => app.finished.length > 0;
const has = (word: RegExp) => (app: App): boolean => word.test(app.editor.text().replace(/\/\/.*/g, "")) && app.sheet?.complete === true;
let before = 0;

export const TOURS: Tour[] = [
	{
		id: "slices", title: "From round robin to work stealing", about: "A topology, its slice, and what they do to latency", minutes: 8, steps: [
			{ title: "A scheduler in two lines", view: "edit", begin: load("// One queue for all CPUs, round robin.\nentry -> round_robin(slice = 20ms) -> cpus;\n", "mine.weir", "smp-4", "web", "300ms"),
				text: "The text on the left and the graph on the right are the same thing. Tasks enter, wait in one queue in order of arrival, and any CPU takes the first. Click the green box.", done: (a) => a.sheet?.complete === true && document.querySelector(".inspector .params") !== null },
			{ title: "Run it", view: "run", target: ".view.run .setup", begin: mark, text: "Press Run. The numbers on the pipes are tasks per second and tasks waiting; the chart shows wake-up latency. Wait for the end, or choose “as fast as it goes”.", done: ran, result: (a) => { before = p99(last(a)); return `The 99th percentile of the wake-up latency is ${ms(before)}.`; } },
			{ title: "Change the slice", view: "edit", target: ".inspector .params", text: "Select the queue and move the slider of slice from 20 ms to about 1 ms. The text changes with it, and Undo takes it back.", done: (a) => { const m = /slice\s*=\s*([\d.]+)\s*(us|ms)/.exec(a.editor.text()); return !!m && Number(m[1]) * (m[2] === "ms" ? 1000 : 1) < 5000 && a.sheet?.complete === true; } },
			{ title: "See the latency move", view: "run", begin: mark, text: "Run again: same workload, same seed, only the slice is another.", done: ran, result: (a) => `Before: ${ms(before)}. Now: ${ms(p99(last(a)))}. Shorter slices let waiting tasks in sooner, and switch more often.` },
			{ title: "A queue for each CPU", view: "edit", begin: (a) => load("// A queue for each CPU; idle CPUs steal.\nannotate affinity;\nentry -> load_balancer -> each cpu { round_robin(slice = 1ms) -> cpu };\n", a.path ?? "mine.weir", "smp-64", "hackbench:groups=8,loops=50")(a),
				text: "One queue has one lock. Here a balancer fills a queue for each of 64 CPUs: one box with a cell for each. Run it, with “global_rr” in the field “beside”.", done: () => document.querySelectorAll(".pane").length > 1 },
			{ title: "Steal", view: "run", begin: mark, text: "Look at the lock numbers on the pipes of both. Now open “worksteal” from the catalogue (Editor, Open…), and run that: idle CPUs take tasks from others.", done: (a) => a.finished.some((r) => r.begun.topology === "worksteal"), result: (a) => `worksteal: wake-up p99 ${ms(p99(a.finished.find((r) => r.begun.topology === "worksteal")))}.` },
			{ title: "Keep it", view: "edit", text: "Save the text under a name that ends in .weir. `runweir check`, `run` and `live` take the same file.", done: (a) => !!a.path && !a.dirty },
		],
	},
	{
		id: "inversion", title: "Priority inversion", about: "A high priority that waits for a low one, and the cure", minutes: 5, steps: [
			{ title: "Three tasks and a mutex", view: "edit", begin: from("priority", "smp-1", "locks"), text: "In the workload “locks” tasks of different priority share mutexes. This topology orders by priority. Look at the graph: the annotator keeps the priorities.", done: (a) => a.sheet?.complete === true },
			{ title: "Watch it wait", view: "run", begin: mark, text: "Run, then press “Worst moment”: the run begins again and stops where the longest wait ended. The events below say who ran meanwhile.", done: (a) => ran(a) || a.runs.some((r) => r.frame?.state === "paused" && r.frame.log.length > 0) },
			{ title: "Ask why", view: "run", text: "Press “why?” beside the worst moment: the run is made again up to there, and the chain of causes is shown. (`runweir explain` does the same with the folder of a run.)", done: () => document.querySelector("section.why .causes li") !== null },
			{ title: "The cure", view: "edit", text: "A mutex with the protocol “inherit” lends its holder the priority of those who wait (docs/workloads.md). In the topology it needs nothing: order by priority suffices. Open any other topology, “fifo” say, to see what happens without priorities.", done: (a) => a.name.includes("fifo") },
		],
	},
	{
		id: "collapse", title: "The collapse on 128 CPUs", about: "One lock for all CPUs, found and cured", minutes: 6, steps: [
			{ title: "One queue, 128 CPUs", view: "edit", begin: from("global_rr", "smp-128", "tokens:pairs=128,loops=0", "5ms"), text: "All CPUs take from one pipe, whose lock only one of them can hold.", done: (a) => a.sheet?.complete === true },
			{ title: "See it collapse", view: "run", begin: mark, text: "Run. The pipe turns red: “lock” counts the CPUs that wait for it at a time. In the strip, the scheduler's share (amber) eats the tasks' time.", done: ran, result: (a) => { before = last(a)?.done?.totals.lock_wait_ns ?? 0; return `${ms(before)} of CPU time went into waiting for locks.`; } },
			{ title: "What `analyze` says", view: "edit", text: "`runweir analyze global_rr -m smp-128 -w tokens:pairs=128,loops=0` names this pipe, the largest machine that it carries, and tries changes. The smallest that helps: a queue for each cache or CPU. Select the pipe to the CPUs and change the text to: entry -> load_balancer -> each cpu { round_robin -> cpu };  with  annotate affinity;", done: has(/each\s+(cpu|llc|core|node)/) },
			{ title: "Cured", view: "run", begin: mark, text: "Run again.", done: ran, result: (a) => `Waiting for locks: ${ms(before)} before, ${ms(last(a)?.done?.totals.lock_wait_ns ?? 0)} now.` },
		],
	},
	{
		id: "gang", title: "A gang", about: "Threads that must run at the same time", minutes: 4, steps: [
			{ title: "Barriers want company", view: "edit", begin: from("gang", "smp-4", "hackbench:groups=2,loops=50"), text: "Threads that meet at barriers lose time when one of them waits for a CPU. The component “gang” gives all members of a program the same slot of time. Press its manual in the palette.", done: () => /gang/.test(document.querySelector(".inspector")?.textContent ?? "") },
			{ title: "Slots", view: "edit", text: "Select the gang's box in the graph: its parameters are in the panel. Slots are absolute times, so members on several CPUs start together.", done: () => document.querySelector(".box.selected") !== null },
			{ title: "Run it", view: "run", begin: mark, text: "Run: tasks without a manifest use the time between the slots. docs/gangs.md shows manifests and `runweir gang check`.", done: ran },
		],
	},
	{
		id: "component", title: "Write a component", about: "From an empty file to a box in the graph", minutes: 6, steps: [
			{ title: "Where they come from", view: "edit", begin: from("fifo", "smp-4", "web", "200ms"), text: "A component is one C file. Search “fifo” in the palette and read its manual: it is the comment at the head of the file.", done: () => document.querySelector(".inspector .manual") !== null },
			{ title: "Begin one", view: "edit", text: "In a terminal: `runweir component new mine --kind order` writes mine.c; `runweir component build mine.c` and `runweir component test mine.c` build and test it against its law. Here, first feel the place where it will stand: insert “lcfs” into the pipe before fifo, by dragging.", done: (a) => /lcfs/.test(a.editor.text().replace(/\/\/.*/g, "")) },
			{ title: "What the checker knows", view: "edit", text: "The checker warns or refuses where one order destroys another, and says how to mend it. Use Undo or Remove until the text is right again.", done: (a) => a.sheet?.complete === true && !/lcfs[\s\S]*fifo/.test(a.editor.text().replace(/\/\/.*/g, "")) },
			{ title: "Load your own", view: "edit", text: "`runweir --load mine.so studio my.weir` starts the studio with it: it then stands in the palette with its manual. docs/tutorial.md has every step.", done: () => true },
		],
	},
];

export class Learn {
	readonly root: HTMLElement;
	private card = h("aside", { class: "tour", hidden: true, "aria-label": "guided tour", "aria-live": "polite" });
	private tour: Tour | null = null;
	private at = 0;
	private passed = false;
	private shown: HTMLElement | null = null;

	constructor(private app: App, private show: (view: string) => void) {
		this.root = h("div", { class: "view learn" }, h("h1", {}, "Learn by doing"), h("p", { class: "lead" }, "Each tour runs in this page, with the real simulator. A card below the page says what to do; it covers nothing."),
			h("div", { class: "cards" }, ...TOURS.map((t) => h("section", { class: "card" }, h("h2", {}, t.title), h("p", {}, t.about + "."), h("footer", {}, h("small", {}, `${t.steps.length} steps, about ${t.minutes} minutes`), h("button", { class: "primary", "data-tour": t.id, onclick: () => void this.begin(t) }, "Start"))))));
		// A row of the page, not a layer above it: whatever a step is about, the card does not cover it.
		document.getElementById("studio")!.append(this.card);
		app.on(() => this.look());
		setInterval(() => this.look(), 700);
	}

	private async begin(t: Tour): Promise<void> {
		if (this.app.dirty && !confirm("The text in the editor has changes that are not saved. Begin the tour?")) return;
		this.tour = t;
		await this.go(0);
	}

	private async go(i: number): Promise<void> {
		const step = this.tour?.steps[i];
		if (!step) { this.tour = null; this.card.hidden = true; this.show("learn"); return; }
		this.at = i;
		this.passed = false;
		this.show(step.view);
		this.draw("");
		try { await step.begin?.(this.app); } catch (e) { report(e); }
		this.app.notify();
		this.look();
	}

	private look(): void {
		const step = this.tour?.steps[this.at];
		if (step) this.reveal(step.target);
		if (!step || this.passed) return;
		if (!step.done || step.done(this.app)) { this.passed = true; this.draw(step.result?.(this.app) ?? ""); }
	}

	/** Bring what the step is about into view, once it is there. */
	private reveal(selector: string | undefined): void {
		const target = selector ? document.querySelector<HTMLElement>(selector) : null;
		if (!target || target === this.shown) return;
		this.shown = target;
		target.scrollIntoView({ block: "center" });
	}

	private draw(result: string): void {
		const t = this.tour!, step = t.steps[this.at], end = this.at + 1 === t.steps.length;
		this.card.hidden = false;
		put(this.card, h("header", {}, h("small", {}, `${t.title} · ${this.at + 1} of ${t.steps.length}`), h("button", { class: "tool", "aria-label": "leave the tour", onclick: () => { this.tour = null; this.card.hidden = true; } }, "×")),
			h("h2", {}, step.title), h("p", {}, ...words(step.text)),
			result ? h("p", { class: "result" }, result) : null,
			h("footer", {}, this.at ? h("button", { onclick: () => void this.go(this.at - 1) }, "Back") : null, h("span", { class: "spring" }), h("span", { class: this.passed ? "ok" : "soft" }, this.passed ? "✓ done" : "not yet"),
				h("button", { class: this.passed ? "primary" : "", onclick: () => void this.go(this.at + 1) }, end ? "Finish" : "Next")));
	}
}
