// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The running kernel: the same picture, a switch with its difference first, sliders that are written down as a scenario.
import type { App } from "./app";
import { call, h, ns, report, toast, withToken, words } from "./dom";
import { Graph, spreadText } from "./graph";
import { Chart, CpuStrip, latencyKey } from "./run";
import { sliderFor } from "./edit";
import type { Frame, Opened, Picture } from "./types";

interface Attached { picture: Picture; topology: string; cpus: number; source: string }

export class LiveView {
	readonly root: HTMLElement;
	private graph = new Graph({}, "graph of the running scheduler");
	private chart = new Chart(() => {});
	private strip = new CpuStrip();
	private words = h("p", { class: "clock", role: "status" });
	private panel = h("div", { class: "livepanel", hidden: true });
	private hint = h("div", { class: "empty" }, h("p", {}, ...words("Start `sudo runweir live linux` in a terminal, then Attach: the scheduler in charge of this machine appears here, with its rates, depths and waits.")),
		h("p", {}, ...words("For another machine, forward its socket first, `ssh -L /tmp/live.sock:/run/runweir/live.sock HOST`, and name `/tmp/live.sock` above.")));
	private sliders = h("div", { class: "params" });
	private steps: { t: number; verb: string }[] = [];
	private list = h("pre", { class: "difference", tabindex: 0, "aria-label": "recorded scenario" }, "no change yet");
	private source: EventSource | null = null;
	private began = 0;
	private first = "";

	constructor(private app: App) {
		this.graph.live = true;
		const socket = h("input", { value: app.hello.socket, "aria-label": "control socket of runweir live", size: 40 });
		const topology = h("input", { list: "topologies", placeholder: "topology or file; empty: the editor's text", "aria-label": "topology to switch to", size: 30 });
		const difference = h("pre", { class: "difference", tabindex: 0, "aria-label": "what a switch would change", hidden: true });
		const go = h("button", { class: "primary", hidden: true, onclick: () => void this.switch(socket.value, topology.value, false, difference, go) }, "Switch now");
		this.root = h("div", { class: "view live" }, h("form", { class: "bar", onsubmit: (e: Event) => { e.preventDefault(); this.attach(socket.value); } },
			h("label", {}, "control socket ", socket), h("button", { class: "primary" }, "Attach"), h("span", { class: "spring" }), this.words),
			this.hint, this.panel);
		this.panel.append(h("article", { class: "pane" }, this.graph.root, h("div", { class: "meters" }, h("div", { class: "meter" }, this.strip.head, this.strip.canvas), h("div", { class: "meter" }, h("h3", {}, "Waits of woken tasks, last 10 s ", latencyKey()), this.chart.canvas))),
			h("aside", {}, h("h2", {}, "Switch"), topology, h("div", { class: "row" }, h("button", { onclick: () => void this.switch(socket.value, topology.value, true, difference, go) }, "Show the difference"), go), difference,
				h("h2", {}, "Parameters"), this.sliders, h("h2", {}, "Scenario"), h("p", { class: "soft" }, ...words("Each change is a step of a scenario that `runweir run` and `runweir live` repeat with `--scenario`.")), this.list,
				h("button", { onclick: () => void this.save() }, "Save as a scenario…")));
	}

	private attach(socket: string): void {
		this.source?.close();
		this.words.textContent = "attaching…";
		const source = (this.source = new EventSource(withToken("/api/live?socket=" + encodeURIComponent(socket))));
		source.addEventListener("attached", (e) => {
			const a = JSON.parse((e as MessageEvent<string>).data) as Attached;
			this.panel.hidden = false;
			this.hint.hidden = true;
			this.app.live.attached = true;
			if (!this.began) { this.began = performance.now(); this.first = a.topology; }
			this.graph.show(a.picture);
			this.chart.reset(null);
			this.drawSliders(socket, a.picture);
		});
		source.addEventListener("frame", (e) => {
			const f = JSON.parse((e as MessageEvent<string>).data) as Frame;
			this.graph.update(f);
			this.strip.draw(f);
			this.chart.add(f, f.wakeup[1]);
			this.words.textContent = `${f.topology} in charge for ${ns(f.t_ns)} · ${spreadText(f.wakeup[1])}`;
		});
		source.addEventListener("failed", (e) => {
			const w = JSON.parse((e as MessageEvent<string>).data) as { message: string; help: string };
			source.close();
			this.words.textContent = "not attached";
			toast(w.message, [w.help]);
		});
		source.onerror = () => { this.words.textContent = "connection lost"; };
	}

	private drawSliders(socket: string, p: Picture): void {
		const rows = p.boxes.flatMap((b) => {
			const c = this.app.hello.components.find((x) => x.name === b.component);
			return (c?.shown ?? []).filter((q) => q.range && q.unit !== "flag").map((q) => {
				const given = b.params.find(([n]) => n === q.name)?.[1] ?? q.default;
				const value = h("input", { class: "value", value: given, "aria-label": `${b.name} ${q.name}` });
				const set = async (text: string): Promise<void> => {
					try {
						await call("/api/live/set", { socket, instances: b.name, param: q.name, value: text });
						this.note(`set ${b.name}.${q.name} = ${text}`);
					} catch (e) { report(e); }
				};
				value.addEventListener("change", () => void set(value.value.trim()));
				return h("div", { class: "param" }, h("label", {}, `${b.name}.${q.name}`), value, sliderFor(q, given, (text, end) => { value.value = text; if (end) void set(text); }), h("small", {}, q.help));
			});
		});
		this.sliders.replaceChildren(...(rows.length ? rows : [h("p", { class: "soft" }, "The components in charge have no parameters.")]));
	}

	private note(verb: string): void {
		this.steps.push({ t: Math.round(performance.now() - this.began), verb });
		this.list.textContent = this.toml();
	}

	private toml(): string {
		const quote = (x: string): string => '"' + x.replace(/["\\]/g, "\\$&") + '"';
		return `# Recorded in the studio.\ntopology = ${quote(this.first)}\n` + this.steps.map((s) => `\n[[at]]\ntime = "${s.t}ms"\ndo = ${quote(s.verb)}\n`).join("");
	}

	private async save(): Promise<void> {
		const path = prompt("Save the scenario as (a path that ends in .toml)", "recorded.toml");
		if (!path) return;
		try { await call("/api/save", { path, text: this.toml(), mark: null, force: false }); toast(`saved as ${path}`, [], false); } catch (e) { report(e); }
	}

	private async switch(socket: string, name: string, dry: boolean, difference: HTMLElement, go: HTMLElement): Promise<void> {
		try {
			const t = name.trim() ? await call<Opened>("/api/open", { name: name.trim() }) : { name: this.app.name, text: this.app.editor.text() };
			const said = await call<{ difference: string; report: string }>("/api/live/switch", { socket, name: t.name, text: t.text, dry_run: dry });
			difference.hidden = false;
			difference.textContent = dry ? said.difference : said.report;
			go.hidden = !dry;
			if (!dry) this.note(`swap ${name.trim() || this.app.path || "my.weir"}`);
		} catch (e) { go.hidden = true; report(e); }
	}
}
