// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The graph: boxes and pipes as SVG, what changes thirty times a second on canvases above it.
import { count, css, h, heat, ns, s, sharp } from "./dom";
import type { Box, Finding, Frame, Picture } from "./types";

export interface GraphEvents {
	box?: (index: number, user: boolean) => void;
	line?: (index: number) => void;
	drop?: (line: number, component: string) => void;
	dropFree?: (component: string) => void;
	key?: (e: KeyboardEvent, index: number) => void;
}

export class Graph {
	readonly root: HTMLElement;
	private stage = h("div", { class: "stage" });
	private canvas = h("canvas", { "aria-hidden": "true" });
	private picture: Picture | null = null;
	private boxes: SVGElement[] = [];
	private lives: (SVGElement | null)[] = [];
	private lines: { path: SVGElement; tip: SVGElement; label: SVGElement; depth: SVGElement; wait: SVGElement; group: SVGElement }[] = [];
	private zoom = 0;
	private scale = 1;
	private frame: Frame | null = null;
	private drawn = "";
	selected = -1;
	selectedLine = -1;

	constructor(private events: GraphEvents = {}, private label = "graph of the topology") {
		const button = (text: string, title: string, f: () => void): HTMLElement => h("button", { class: "tool", title, "aria-label": title, onclick: f }, text);
		this.root = h("div", { class: "graph" }, this.stage, h("div", { class: "zoom" },
			button("+", "zoom in", () => this.zoomBy(1.25)), button("−", "zoom out", () => this.zoomBy(0.8)), button("fit", "fit the graph into the view", () => { this.zoom = 0; this.fit(); })));
		new ResizeObserver(() => this.fit()).observe(this.root);
		this.root.addEventListener("wheel", (e) => { if (!e.shiftKey) { e.preventDefault(); this.zoomBy(e.deltaY < 0 ? 1.1 : 0.9); } }, { passive: false });
		this.root.addEventListener("dragover", (e) => e.preventDefault());
		this.root.addEventListener("drop", (e) => {
			e.preventDefault();
			const component = e.dataTransfer?.getData("text/x-component");
			if (!component) return;
			const line = (e.target as Element).closest("[data-line]");
			if (line) events.drop?.(Number(line.getAttribute("data-line")), component);
			else events.dropFree?.(component);
		});
	}

	private zoomBy(f: number): void { this.zoom = Math.max(0.15, Math.min(4, (this.zoom || this.scale) * f)); this.fit(); }

	private fit(): void {
		const p = this.picture;
		if (!p) return;
		const [w, t] = [this.root.clientWidth - 4, this.root.clientHeight - 4];
		if (w < 20 || t < 20) return;
		this.scale = this.zoom || Math.max(0.3, Math.min(1.5, w / p.width, t / p.height));
		const [sw, st] = [p.width * this.scale, p.height * this.scale];
		this.stage.style.width = sw + "px";
		this.stage.style.height = st + "px";
		this.stage.style.marginLeft = Math.max(0, (w - sw) / 2) + "px";
		this.stage.style.marginTop = Math.max(0, (t - st) / 2) + "px";
		this.strips();
	}

	show(p: Picture | null, stale = false): void {
		this.root.classList.toggle("stale", stale);
		if (!p) { if (!stale) { this.picture = null; this.stage.replaceChildren(); this.drawn = ""; } return; }
		const key = JSON.stringify(p);
		if (key === this.drawn) { this.picture = p; return; }
		const focused = this.boxes.findIndex((b) => b === document.activeElement);
		this.drawn = key;
		this.picture = p;
		this.boxes = []; this.lives = []; this.lines = [];
		const svg = s("svg", { viewBox: `0 0 ${p.width} ${p.height}`, width: "100%", height: "100%", role: "group", "aria-label": this.label });
		if (p.rule !== null) svg.append(s("line", { class: "rule", x1: 16, x2: p.width - 16, y1: p.rule, y2: p.rule }));
		p.lines.forEach((l, i) => {
			const path = s("path", { class: "pipe" + (l.postponed ? " postponed" : ""), d: l.path });
			const tip = s("path", { class: "tip", d: `M${l.tip[0] - 0.5} ${l.tip[1]}l-9 -4.2v8.4z` });
			const fixed = [l.label, l.count > 1 && l.count !== p.boxes[l.from].count && l.count !== p.boxes[l.to].count ? "×" + l.count : ""].filter(Boolean).join(" ");
			const label = s("text", { class: "pipe-label", x: l.label_at[0], y: l.label_at[1] }, fixed);
			label.setAttribute("data-fixed", fixed);
			// Tasks a second above the pipe, what waits below: in one line they would be longer than most pipes.
			const depth = s("text", { class: "pipe-label", x: l.label_at[0], y: l.label_at[1] + 19 });
			const wait = s("text", { class: "pipe-label lock", x: l.label_at[0], y: l.label_at[1] + 32 });
			const group = s("g", { class: "line", "data-line": i }, s("path", { class: "hit", d: l.path }), path, tip, label, depth, wait);
			group.addEventListener("click", () => { this.pickLine(i); this.events.line?.(i); });
			group.addEventListener("dragenter", () => group.classList.add("target"));
			group.addEventListener("dragleave", () => group.classList.remove("target"));
			group.addEventListener("drop", () => group.classList.remove("target"));
			this.lines.push({ path, tip, label, depth, wait, group });
			svg.append(group);
		});
		p.boxes.forEach((b, i) => svg.append(this.box(b, i)));
		this.stage.replaceChildren(svg, this.canvas);
		if (this.selected >= p.boxes.length) this.selected = -1;
		if (this.selectedLine >= p.lines.length) this.selectedLine = -1;
		this.fit();
		this.pick(this.selected);
		if (focused >= 0 && this.boxes[focused]) this.boxes[focused].focus();
	}

	private box(b: Box, i: number): SVGElement {
		const [x, y, w, t] = b.box;
		const round = b.kind === "entry" ? Math.min(19, t / 2) : b.kind === "cpus" ? 4 : 9;
		const middle = x + w / 2;
		const bottom = b.strip ? b.strip[1] - 6 : y + t - (b.topics.length ? 5 : 0);
		const lines = [b.title, b.detail].filter(Boolean);
		const hasLive = t - (b.strip ? y + t - b.strip[1] : 0) > 38 + (b.detail ? 15 : 0) + 8 && b.kind !== "annotator" && b.kind !== "entry";
		const n = lines.length + (hasLive && this.live ? 1 : 0);
		let at = (y + bottom) / 2 + 4.5 - 7.5 * (n - 1);
		const what = `${b.title}${b.component && b.component !== b.title ? ", " + b.component : ""}${b.count > 1 ? `, one for each ${b.each || "copy"}, ${b.count} of them` : ""}${b.detail ? ", " + b.detail : ""}`;
		const g = s("g", { class: `box ${b.style}`, tabindex: -1, role: "button", "aria-label": what, "data-box": i });
		if (b.count > 1) for (const d of [7, 3.5]) g.append(s("rect", { class: "behind", x: x + d, y: y - d, width: w, height: t, rx: round }));
		g.append(s("rect", { class: "front", x, y, width: w, height: t, rx: round }));
		g.append(s("rect", { class: "edge", x, y: y + 7, width: 3.5, height: t - 14, rx: 1.75 }));
		g.append(squeeze(s("text", { class: "name", x: middle, y: at }, b.title), b.title, w - 10, 7.4));
		if (b.count > 1) g.append(s("text", { class: "times", x: x + w + 7, y: y - 11 }, (b.each ? "each " + b.each + " " : "") + "×" + b.count));
		if (b.detail) g.append(s("text", { class: "detail", x: middle, y: (at += 15) }, shorten(b.detail, (w - 16) / 6.1)));
		let live: SVGElement | null = null;
		if (this.live && b.kind !== "annotator" && b.kind !== "entry") g.append((live = s("text", { class: "live", x: middle, y: (at += 16) })));
		this.lives.push(live);
		let px = middle - (b.topics.reduce((a, x) => a + x.length * 6.4 + 14, 0) - 4) / 2;
		for (const topic of b.topics) {
			const pw = topic.length * 6.4 + 10;
			g.append(s("rect", { class: "pill", x: px, y: y + t - 6.5, width: pw, height: 13, rx: 6.5 }), s("text", { class: "pill-text", x: px + pw / 2, y: y + t + 3.2 }, topic));
			px += pw + 4;
		}
		g.append(s("circle", { class: "flag", cx: x + w - 2, cy: y + 2, r: 6 }));
		g.addEventListener("click", () => { this.pick(i); this.events.box?.(i, true); });
		g.addEventListener("focus", () => { if (this.selected !== i) { this.pick(i); this.events.box?.(i, false); } });
		g.addEventListener("keydown", (e) => this.key(e as KeyboardEvent, i));
		this.boxes.push(g);
		return g;
	}

	live = false;

	private key(e: KeyboardEvent, i: number): void {
		const p = this.picture!;
		const mid = (b: Box): [number, number] => [b.box[0] + b.box[2] / 2, b.box[1] + b.box[3] / 2];
		const go = (j: number | undefined): void => { if (j !== undefined) { e.preventDefault(); this.boxes[j].focus(); } };
		if (e.key === "ArrowRight") go(p.lines.find((l) => l.from === i)?.to);
		else if (e.key === "ArrowLeft") go(p.lines.find((l) => l.to === i)?.from);
		else if (e.key === "ArrowDown" || e.key === "ArrowUp") {
			const [x, y] = mid(p.boxes[i]);
			const down = e.key === "ArrowDown";
			const list = p.boxes.map((b, j) => [j, ...mid(b)]).filter(([j, , by]) => j !== i && (down ? by > y + 4 : by < y - 4));
			list.sort((a, b) => Math.hypot(a[1] - x, (a[2] - y) * 2) - Math.hypot(b[1] - x, (b[2] - y) * 2));
			go(list[0]?.[0]);
		} else if (e.key === "Enter" || e.key === " ") { e.preventDefault(); this.pick(i); this.events.box?.(i, true); } else this.events.key?.(e, i);
	}

	pick(i: number): void {
		this.selected = i;
		if (i >= 0) this.selectedLine = -1;
		this.boxes.forEach((b, j) => {
			b.classList.toggle("selected", j === i);
			// The graph is one stop of Tab; arrows go from box to box.
			b.setAttribute("tabindex", j === Math.max(0, i) ? "0" : "-1");
		});
		this.lines.forEach((l, j) => l.group.classList.toggle("selected", j === this.selectedLine));
	}

	pickLine(i: number): void { this.selectedLine = i; this.selected = -1; this.pick(-1); }

	focusBox(i: number): void { this.boxes[i]?.focus(); }

	/** Findings at the boxes and pipes whose place they are about. */
	mark(findings: Finding[]): void {
		const p = this.picture;
		if (!p) return;
		const at = (span: [number, number] | null): Finding[] => span ? findings.filter((f) => f.labels.length > 0 && f.labels[0][0] < span[1] && f.labels[0][1] > span[0]) : [];
		const set = (node: SVGElement, list: Finding[]): void => {
			node.classList.toggle("error", list.some((f) => f.error));
			node.classList.toggle("warning", list.length > 0 && !list.some((f) => f.error));
			node.querySelector("title")?.remove();
			if (list.length) node.prepend(s("title", {}, list.map((f) => f.message).join("\n")));
		};
		this.boxes.forEach((node, i) => set(node, at(p.boxes[i].at)));
		this.lines.forEach((l, i) => set(l.group, at(p.lines[i].at)));
	}

	/** Numbers of a moment. */
	update(f: Frame): void {
		const p = this.picture;
		this.frame = f;
		if (!p) return;
		f.lines.forEach(([rate, depth, , wait], i) => {
			const line = this.lines[i];
			if (!line) return;
			const hot = Math.sqrt(Math.min(1, wait / 2));
			const flow = rate > 0 ? Math.min(1, Math.log10(1 + rate / 10) / 5) : 0;
			const stroke = wait > 0.005 ? `hsl(${(45 - 45 * hot).toFixed(0)} 90% 52%)` : "";
			line.path.setAttribute("style", `stroke-width:${(1.6 + 3.2 * Math.max(hot, flow * 0.8)).toFixed(1)};${stroke ? "stroke:" + stroke : ""}`);
			line.tip.setAttribute("style", stroke ? "fill:" + stroke : "");
			line.path.classList.toggle("flows", rate > 0 && f.state !== "paused" && f.state !== "done");
			const put = (node: SVGElement, text: string): void => { if (node.textContent !== text) node.textContent = text; };
			put(line.label, [line.label.getAttribute("data-fixed"), rate > 0 ? count(rate) + "/s" : ""].filter(Boolean).join(" "));
			// A task is in every pipe along its way; it is counted once, at the box where it waits.
			put(line.depth, p.lines[i].postponed && depth > 0.5 ? count(depth) + " postponed" : "");
			put(line.wait, wait > 0.02 ? `lock ${wait.toFixed(wait < 1 ? 2 : 1)}` : "");
		});
		f.boxes.forEach(([waiting, code], i) => {
			const node = this.lives[i];
			if (!node) return;
			const further = f.lines.reduce((sum, l, k) => sum + (p.lines[k]?.from === i ? l[1] : 0), 0);
			const waits = Math.max(0, Math.round(waiting - further));
			const parts = [waits > 0 ? count(waits) + " waiting" : "", code > 0.0005 ? `code ${(code * 100).toFixed(code < 0.1 ? 1 : 0)}%` : ""].filter(Boolean).join(" · ");
			if (node.textContent !== parts) { node.textContent = parts; squeeze(node, parts, p.boxes[i].box[2] - 10, 5.9); }
			this.boxes[i].classList.toggle("hot", code > 0.5);
		});
		this.strips();
	}

	private strips(): void {
		const p = this.picture;
		if (!p || !p.boxes.some((b) => b.strip)) { this.canvas.hidden = true; return; }
		this.canvas.hidden = false;
		this.canvas.style.width = p.width * this.scale + "px";
		this.canvas.style.height = p.height * this.scale + "px";
		const c = sharp(this.canvas, p.width * this.scale, p.height * this.scale);
		c.scale(this.scale, this.scale);
		const cells = new Map(this.frame?.cells ?? []);
		const quiet = css("--cell"), busyInk = css("--busy");
		p.boxes.forEach((b, i) => {
			if (!b.strip) return;
			const [x0, y0, columns, size] = b.strip;
			const values = cells.get(i);
			for (let k = 0; k < b.count; k++) {
				const x = x0 + (k % columns) * (size + 1), y = y0 + Math.floor(k / columns) * (size + 1);
				const waiting = values ? values[k] : 0;
				const cpu = b.firsts[k];
				const busy = this.frame && b.kind === "cpus" ? this.frame.busy[cpu] : 0;
				if (busy === 255) { c.fillStyle = quiet; c.globalAlpha = 0.35; }
				else if (b.kind === "cpus" && busy > 0) { c.fillStyle = busyInk; c.globalAlpha = 0.25 + 0.75 * busy / 100; }
				else if (waiting > 0) { c.fillStyle = heat(Math.min(1, Math.log2(1 + waiting) / 5)); c.globalAlpha = 1; }
				else { c.fillStyle = quiet; c.globalAlpha = 1; }
				c.fillRect(x, y, size, size);
			}
		});
		c.globalAlpha = 1;
	}
}

/** A list, as many of its items as there is room for; the panel outside the graph has them all. */
function shorten(list: string, room: number): string {
	if (list.length <= room) return list;
	const cut = list.slice(0, Math.max(1, Math.floor(room) - 3));
	return (cut.includes(", ") ? cut.slice(0, cut.lastIndexOf(", ")) + ", …" : cut + "…");
}

/** A word that is wider than its box is narrowed; @each is about the width of a letter. */
function squeeze<T extends SVGElement>(node: T, text: string, width: number, each: number): T {
	if (text.length * each <= width) node.removeAttribute("textLength");
	else { node.setAttribute("textLength", String(Math.max(8, width))); node.setAttribute("lengthAdjust", "spacingAndGlyphs"); }
	return node;
}

export const spreadText = (x: { count: number; p50: number; p99: number; max: number }): string => x.count ? `p50 ${ns(x.p50)} · p99 ${ns(x.p99)} · max ${ns(x.max)}` : "none yet";
