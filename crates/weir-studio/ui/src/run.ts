// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Runs: one, or two topologies side by side, as they happen.
import type { App, RunState } from "./app";
import { call, count, css, h, ns, report, sharp, silence, toast, withToken } from "./dom";
import { Graph, spreadText } from "./graph";
import type { Begun, Frame, Moment, Opened, Spread } from "./types";
import { onMoment, type Wait, Why } from "./why";

export const latencyKey = (): HTMLElement => h("span", { class: "key" }, h("i", { class: "k50" }), "p50 ", h("i", { class: "k99" }), "p99 ", h("i", { class: "kmax" }), "max");

/** Latencies over the run. */
export class Chart {
	readonly canvas = h("canvas", { class: "chart", role: "img", "aria-label": "wake-up latency over the run" });
	private points: [number, number, number, number][] = [];
	private end: number | null = null;
	private take = -1;
	constructor(private seek: (t: number) => void) {
		this.canvas.addEventListener("click", (e) => { const b = this.canvas.getBoundingClientRect(); this.seek(((e.clientX - b.left - 46) / (b.width - 54)) * this.extent()); });
		new ResizeObserver(() => this.draw()).observe(this.canvas);
	}
	private extent(): number { return this.end ?? Math.max(1, this.points.at(-1)?.[0] ?? 1) * 1.05; }
	reset(end: number | null): void { this.points = []; this.end = end; this.draw(); }
	add(f: Frame, s: Spread = f.wakeup[0]): void {
		if (f.take !== this.take) { this.points = []; this.take = f.take; }
		if (s.count) this.points.push([f.t_ns, s.p50, s.p99, s.max]);
		if (this.points.length > 3000) this.points = this.points.filter((_, i) => i % 2 === 0);
		this.now = f.t_ns;
		this.draw();
	}
	private now = 0;
	draw(): void {
		const [w, t] = [this.canvas.clientWidth, this.canvas.clientHeight];
		if (w < 20) return;
		const c = sharp(this.canvas, w, t);
		const top = Math.max(1e4, ...this.points.map((p) => p[3])), bottom = Math.max(1, Math.min(top / 100, ...this.points.map((p) => Math.max(100, p[1]))));
		const [left, right, low] = [46, w - 8, t - 18];
		const x = (v: number): number => left + (v / this.extent()) * (right - left);
		const y = (v: number): number => low - (Math.log(Math.max(bottom, v) / bottom) / Math.log(top / bottom)) * (low - 8);
		c.font = "11px system-ui,sans-serif";
		c.textBaseline = "middle";
		for (let p = 10 ** Math.ceil(Math.log10(bottom)); p <= top; p *= 10) {
			c.fillStyle = css("--grid"); c.fillRect(left, Math.round(y(p)), right - left, 1);
			c.fillStyle = css("--soft"); c.textAlign = "right"; c.fillText(ns(p).replace(".00", "").replace(".0", ""), left - 5, y(p));
		}
		c.textAlign = "center"; c.fillStyle = css("--soft");
		for (let k = 0; k <= 4; k++) c.fillText(ns((this.extent() * k) / 4).replace(".00", ""), Math.min(right - 14, Math.max(left + 8, x((this.extent() * k) / 4))), t - 7);
		const line = (k: number, colour: string, width: number): void => {
			c.strokeStyle = colour; c.lineWidth = width; c.beginPath();
			this.points.forEach((p, i) => (i ? c.lineTo(x(p[0]), y(p[k])) : c.moveTo(x(p[0]), y(p[k]))));
			c.stroke();
		};
		line(3, css("--bad-line"), 1); line(2, css("--warm"), 1.6); line(1, css("--accent"), 1.6);
		c.fillStyle = css("--accent"); c.fillRect(Math.min(right, x(this.now)), 4, 1.5, low - 4);
	}
}

/** All CPUs: a cell each, as busy as they are. */
export class CpuStrip {
	readonly canvas = h("canvas", { class: "cpus", role: "img", "aria-label": "how busy each CPU is" });
	private tasks = h("span", {}, "tasks");
	private code = h("span", {}, "scheduler");
	private count = h("span", {}, "CPUs");
	readonly head = h("h3", {}, this.count, h("span", { class: "key" }, h("i", { class: "kbusy" }), this.tasks, h("i", { class: "ksched" }), this.code));
	private last: Frame | null = null;
	constructor() {
		new ResizeObserver(() => { if (this.last) this.draw(this.last); }).observe(this.canvas);
		this.canvas.addEventListener("mousemove", (e) => {
			const f = this.last; if (!f) return;
			const { columns, size } = this.grid(f.busy.length), b = this.canvas.getBoundingClientRect();
			const cpu = Math.floor((e.clientY - b.top) / size) * columns + Math.floor((e.clientX - b.left) / size);
			this.canvas.title = cpu < f.busy.length ? `CPU ${cpu}: ${f.busy[cpu] === 255 ? "offline" : f.busy[cpu] + " % tasks, " + f.sched[cpu] + " % scheduler"}${f.running[cpu] ? ", runs " + f.running[cpu] : ""}` : "";
		});
	}
	private grid(n: number): { columns: number; rows: number; size: number } {
		const [w, t] = [this.canvas.clientWidth, 104];
		let size = Math.min(26, Math.sqrt((w * t) / n));
		while (size > 1 && Math.ceil(n / Math.floor(w / size)) * size > t) size -= 0.25;
		const columns = Math.max(1, Math.floor(w / size));
		return { columns, rows: Math.ceil(n / columns), size };
	}
	draw(f: Frame): void {
		this.last = f;
		const n = f.busy.length, w = this.canvas.clientWidth;
		if (w < 10 || n === 0) return;
		const { columns, rows, size } = this.grid(n);
		const height = Math.ceil(rows * size);
		if (this.canvas.style.height !== height + "px") this.canvas.style.height = height + "px";
		const c = sharp(this.canvas, w, height);
		const [busy, sched, cell] = [css("--busy"), css("--sched"), css("--cell")];
		const gap = size > 4 ? 1.5 : size > 2 ? 0.5 : 0, inner = size - gap;
		let sum = 0, code = 0;
		for (let k = 0; k < n; k++) {
			const x = (k % columns) * size, y = Math.floor(k / columns) * size;
			c.globalAlpha = 1; c.fillStyle = cell;
			if (f.busy[k] === 255) { c.globalAlpha = 0.3; c.fillRect(x, y, inner, inner); continue; }
			c.fillRect(x, y, inner, inner);
			sum += f.busy[k]; code += f.sched[k];
			if (f.busy[k]) { c.globalAlpha = 0.2 + 0.8 * f.busy[k] / 100; c.fillStyle = busy; c.fillRect(x, y, inner, inner); }
			if (f.sched[k]) { c.globalAlpha = 1; c.fillStyle = sched; const t = (inner * f.sched[k]) / 100; c.fillRect(x, y + inner - t, inner, t); }
		}
		c.globalAlpha = 1;
		this.count.textContent = n === 1 ? "1 CPU" : `${n} CPUs`;
		this.tasks.textContent = `tasks ${(sum / n).toFixed(0)} %`;
		this.code.textContent = `scheduler ${(code / n).toFixed(1)} %`;
	}
}

/** One run with all that is shown of it. */
export class Pane {
	readonly root: HTMLElement;
	graph = new Graph();
	chart = new Chart((t) => void this.control({ do: "seek", ns: Math.max(0, Math.round(t)) }));
	strip = new CpuStrip();
	private head = h("h2", {});
	private clock = h("span", { class: "clock" });
	private tiles = h("dl", { class: "tiles" });
	private worst = h("ol", { class: "worst" });
	private log = h("ol", { class: "log", "aria-label": "last events", tabindex: 0 }, h("li", { class: "soft" }, "Pause, or step, to see them."));
	private report = h("div", { class: "report" });
	private why = new Why((t) => void this.control({ do: "seek", ns: t }));
	private forget = (): void => {};
	private source: EventSource | null = null;
	private pending: Frame | null = null;
	state: RunState | null = null;
	frames = 0;

	constructor(private app: App, private listen: () => void) {
		this.graph.live = true;
		this.root = h("article", { class: "pane" }, h("header", {}, this.head, this.clock), this.graph.root,
			h("div", { class: "meters" }, h("div", { class: "meter" }, this.strip.head, this.strip.canvas),
				h("div", { class: "meter" }, h("h3", {}, "Wake-up latency ", latencyKey()), this.chart.canvas)),
			this.tiles, h("div", { class: "two" }, h("section", {}, h("h3", {}, "Worst moments"), this.worst), h("section", {}, h("h3", {}, "Last events"), this.log)), this.why.root, this.report);
	}

	async begin(wish: Record<string, unknown>): Promise<Begun> {
		this.close();
		const begun = await call<Begun>("/api/run", wish);
		this.state = { begun, frame: null, first: null, done: null };
		this.head.textContent = `${begun.topology} on ${begun.machine}`;
		this.graph.show(begun.picture);
		this.chart.reset(begun.duration_ns);
		this.report.replaceChildren();
		this.why.clear();
		begun.warnings.forEach((w) => toast(w, [], false));
		const source = (this.source = new EventSource(withToken(`/api/run/${begun.id}`)));
		source.addEventListener("frame", (e) => {
			const first = this.pending === null;
			this.pending = JSON.parse((e as MessageEvent<string>).data) as Frame;
			if (first) requestAnimationFrame(() => { const f = this.pending; this.pending = null; if (f) this.update(f); });
		});
		source.addEventListener("done", (e) => {
			this.state!.done = JSON.parse((e as MessageEvent<string>).data);
			this.app.finished.push(this.state!);
			this.showReport();
			this.listen();
		});
		source.addEventListener("failed", (e) => { toast(JSON.parse((e as MessageEvent<string>).data).message); source.close(); this.clock.textContent = "failed"; });
		source.onerror = () => { if (source.readyState === EventSource.CLOSED || this.state) { this.clock.textContent = "connection lost"; this.root.classList.add("lost"); } };
		source.onopen = () => this.root.classList.remove("lost");
		return begun;
	}

	close(): void {
		this.source?.close();
		this.forget();
		if (this.state) void this.control({ do: "close" }).catch(() => {});
		this.source = null;
		this.state = null;
	}

	async control(command: Record<string, unknown>): Promise<void> {
		if (!this.state) return;
		try { await call(`/api/run/${this.state.begun.id}`, command); } catch (e) { if (command.do !== "close") report(e); }
	}

	private update(f: Frame): void {
		if (!this.state) return;
		this.frames++;
		this.state.frame = f;
		this.graph.update(f);
		this.strip.draw(f);
		this.chart.add(f);
		const end = this.state.begun.duration_ns;
		const other = f.topology !== this.state.begun.topology ? ` · now under ${f.topology}` : "";
		this.clock.textContent = `${ns(f.t_ns)}${end ? " of " + ns(end) : ""} · ${count(f.events)} events · ${f.state}${other}`;
		this.root.dataset.state = f.state;
		const tile = (label: string, value: string, note = "", bad = false): HTMLElement => h("div", { class: bad ? "tile bad" : "tile" }, h("dt", {}, label), h("dd", {}, value, note ? h("small", {}, note) : null));
		const [w, r] = [f.wakeup[1], f.response[1]];
		this.tiles.replaceChildren(
			tile("wake-up p99", w.count ? ns(w.p99) : "–", spreadText(w)), tile("response p99", r.count ? ns(r.p99) : "–", spreadText(r)),
			tile("jobs done", count(f.jobs), f.misses ? `${count(f.misses)} deadlines missed` : "no deadline missed", f.misses > 0),
			tile("switches", count(f.switches), `${count(f.preemptions)} preemptions`), tile("migrations", count(f.migrations)));
		this.moments(f.worst);
		if (f.state === "paused") {
			this.log.replaceChildren(...f.log.slice(-40).map(([t, words]) => h("li", {}, h("time", {}, (t / 1e6).toFixed(4) + " ms"), " ", words)));
			this.log.scrollTop = this.log.scrollHeight;
		}
		this.listen();
	}

	private shownWorst = "";
	private moments(list: Moment[]): void {
		const key = JSON.stringify(list);
		if (key === this.shownWorst || this.worst.contains(document.activeElement)) return;
		this.shownWorst = key;
		this.worst.replaceChildren(...list.map((m) => h("li", {},
			h("button", { title: "run again up to this moment and stop there", onclick: () => void this.control({ do: "seek", ns: m.at_ns }) }, h("strong", {}, ns(m.ns)), ` ${m.what === "lock" ? "wait for a lock" : m.what === "wakeup" ? "wake-up" : m.what}${m.task ? " of " + m.task : ""}${m.cpu !== null ? " on CPU " + m.cpu : ""}`, h("time", {}, " at " + ns(m.at_ns))),
			m.number === null ? null : h("button", { class: "why", "aria-label": `why did ${m.task} wait for ${ns(m.ns)}?`, onclick: () => this.explain({ task: "#" + m.number, at_ns: m.at_ns, ns: m.ns }) }, "why?"))));
	}

	worstMoment(): Moment | undefined { return this.state?.frame?.worst.find((m) => m.what === "wakeup") ?? this.state?.frame?.worst[0]; }

	private explain(wait: Wait): void {
		if (this.state) void this.why.ask(`/api/run/${this.state.begun.id}/explain`, wait);
	}

	private fileName(): string {
		const b = this.state!.begun;
		return `${b.topology} on ${b.machine}`.replace(/[^\w.-]+/g, "-") + ".html";
	}

	private showReport(): void {
		const src = withToken(`/api/run/${this.state!.begun.id}/report`);
		this.forget();
		const frame = h("iframe", { title: "report of the run", sandbox: "allow-scripts allow-downloads" });
		this.forget = onMoment(frame, (wait) => this.explain(wait));
		this.report.replaceChildren(h("details", { ontoggle: (e: Event) => { const d = e.target as HTMLDetailsElement; if (d.open && !frame.src) { frame.src = src; d.append(frame); } } },
			h("summary", {}, "Timeline and report of this run"), h("p", { class: "soft" }, "A click on a task in the timeline explains its wait above.")),
			h("a", { class: "share", href: src, download: this.fileName(), title: "the report with everything in it: it opens in any browser, without the studio" }, "Save this run as a file to share"));
	}
}

export class RunView {
	readonly root: HTMLElement;
	readonly panes: Pane[] = [];
	private place = h("div", { class: "panes" });
	private inputs: Record<string, HTMLInputElement> = {};
	private other = h("input", { list: "topologies", placeholder: "none", "aria-label": "second topology, beside the first" });
	private pace = h("select", { "aria-label": "pace: virtual time for each second" }, ...([["auto", "watchable"], ["0.001", "1 ms a second"], ["0.01", "10 ms a second"], ["0.1", "0.1 s a second"], ["1", "as in reality"], ["full", "as fast as it goes"]] as const).map(([v, t]) => h("option", { value: v }, t)));
	private pause: HTMLButtonElement;

	constructor(private app: App) {
		const field = (key: string, label: string, value: string, attrs: Record<string, unknown> = {}): HTMLElement => h("label", { class: "field " + key }, h("span", {}, label), (this.inputs[key] = h("input", { value, ...attrs })));
		this.pause = h("button", { onclick: () => void this.each(this.paused() ? { do: "resume" } : { do: "pause" }) }, "Pause");
		this.pace.addEventListener("change", () => void this.each({ do: "pace", pace: this.paceOf() }));
		this.root = h("div", { class: "view run" }, h("div", { class: "controls" }, h("form", { class: "bar setup", onsubmit: (e: Event) => { e.preventDefault(); void this.begin(); } },
			field("machine", "machine", app.machine, { list: "machines" }), field("workload", "workload", app.workload, { list: "workloads" }),
			field("duration", "for", "", { placeholder: "its own end" }), field("seed", "seed", "1", { inputmode: "numeric" }), field("costs", "costs", "default", { list: "costs" }),
			h("label", { class: "field" }, h("span", {}, "beside"), this.other), h("button", { class: "primary" }, "Run ▸")),
			h("div", { class: "bar transport", role: "group", "aria-label": "control of the run" }, this.pause,
				h("button", { title: "one event more", onclick: () => void this.each({ do: "step", events: 1 }) }, "Step"),
				h("button", { title: "twenty events more", onclick: () => void this.each({ do: "step", events: 20 }) }, "Step 20"),
				h("button", { title: "run again up to the worst wake-up so far and stop there", onclick: () => void this.goWorst() }, "Worst moment"),
				h("button", { title: "from the beginning", onclick: () => void this.each({ do: "again" }) }, "Again"),
				h("button", { title: "end with the results so far", onclick: () => void this.each({ do: "stop" }) }, "Stop"),
				h("label", {}, "pace ", this.pace))), this.place);
		this.place.append(h("p", { class: "empty" }, "The topology of the editor runs here. Choose machine and workload, then Run. A second topology runs beside it, with the same workload and seed."));
		app.on(() => this.sync());
	}

	/** Machine and workload as the editor has them. */
	sync(): void {
		const set = (k: string, v: string): void => { const i = this.inputs[k]; if (document.activeElement !== i && i.dataset.of !== v) { i.value = v; i.dataset.of = v; } };
		set("machine", this.app.machine); set("workload", this.app.workload); set("duration", this.app.duration);
	}

	private paused(): boolean { return this.panes[0]?.state?.frame?.state === "paused"; }
	private paceOf(): number | null {
		if (this.pace.value === "full") return null;
		if (this.pace.value !== "auto") return Number(this.pace.value);
		const end = this.panes[0]?.state?.begun.duration_ns;
		return end ? Math.max(0.0005, end / 1e9 / 12) : 0.02;
	}

	private async each(command: Record<string, unknown>): Promise<void> { await Promise.all(this.panes.map((p) => p.control(command))); }
	private async goWorst(): Promise<void> {
		await Promise.all(this.panes.map((p) => { const m = p.worstMoment(); return m ? p.control({ do: "seek", ns: m.at_ns }) : Promise.resolve(); }));
	}

	async begin(): Promise<void> {
		const value = (k: string): string => this.inputs[k].value.trim();
		this.app.workload = value("workload");
		this.app.duration = value("duration");
		const wanted = value("seed");
		if (!/^\d+$/.test(wanted)) {
			this.inputs.seed.setAttribute("aria-invalid", "true");
			this.inputs.seed.focus();
			toast(`\`${wanted}\` is not a seed`, ["write a whole number from 0 on"]);
			return;
		}
		this.inputs.seed.removeAttribute("aria-invalid");
		// What was refused before is over.
		silence();
		const texts: { name: string; text: string }[] = [{ name: this.app.name, text: this.app.editor.text() }];
		try {
			if (this.other.value.trim()) { const o = await call<Opened>("/api/open", { name: this.other.value.trim() }); texts.push({ name: o.name, text: o.text }); }
			this.panes.splice(0).forEach((p) => p.close());
			const listen = (): void => { this.pause.textContent = this.paused() ? "Resume" : "Pause"; this.app.notify(); };
			const panes = texts.map(() => new Pane(this.app, listen));
			this.place.replaceChildren(...panes.map((p) => p.root));
			this.place.classList.toggle("pair", panes.length > 1);
			const seed = Number(wanted);
			for (const [i, p] of panes.entries()) {
				await p.begin({ ...texts[i], machine: value("machine"), workload: value("workload"), duration: value("duration"), seed, costs: value("costs"), paused: true });
				this.panes.push(p);
			}
			this.app.runs = panes.map((p) => p.state!).filter(Boolean);
			await this.each({ do: "pace", pace: this.paceOf() });
			await this.each({ do: "resume" });
			this.app.notify();
		} catch (e) {
			if (!this.panes.length) this.place.replaceChildren(h("p", { class: "empty bad" }, (e as Error).message, ...((e as { help?: string[] }).help ?? []).map((x) => h("small", {}, x))));
			report(e);
		}
	}
}
