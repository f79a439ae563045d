// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What the views share: the text with its machine, and what is known of it.
import { call, report } from "./dom";
import type { Editor } from "./editor";
import type { Begun, Frame, Hello, Sheet } from "./types";

export interface RunState { begun: Begun; frame: Frame | null; first: Frame["wakeup"] | null; done: { wakeup_latency_ns: { p50: number | null; p99: number | null; max: number | null }; totals: Record<string, number> } | null }

type Listener = () => void;

export class App {
	hello!: Hello;
	editor!: Editor;
	name = "untitled.weir";
	path: string | null = null;
	fileMark: string | null = null;
	saved = "";
	machine = "";
	sheet: Sheet | null = null;
	/** The last whole picture belongs to an earlier text. */
	stale = false;
	runs: RunState[] = [];
	/** Finished runs of this visit, the latest last: for tours. */
	finished: RunState[] = [];
	workload = "hackbench:groups=4,loops=100";
	duration = "";
	live: { attached: boolean } = { attached: false };
	private listeners = new Set<Listener>();
	private asked = 0;
	private timer = 0;
	private again = false;
	private busy = false;

	on(f: Listener): void { this.listeners.add(f); }
	notify(): void { this.listeners.forEach((f) => f()); }
	get dirty(): boolean { return this.editor.text() !== this.saved; }

	/** The text or its machine has changed. */
	changed(): void {
		clearTimeout(this.timer);
		this.timer = window.setTimeout(() => void this.look(), 60);
	}

	async look(): Promise<void> {
		if (this.busy) { this.again = true; return; }
		this.busy = true;
		const mine = ++this.asked;
		try {
			const sheet = await call<Sheet>("/api/sheet", { name: this.name, text: this.editor.text(), machine: this.machine || null });
			if (mine === this.asked) {
				this.stale = sheet.picture === null;
				if (this.stale && this.sheet) sheet.picture = this.sheet.picture;
				this.sheet = sheet;
				this.editor.findings(sheet.findings);
			}
		} catch (e) { report(e); }
		this.busy = false;
		this.notify();
		if (this.again) { this.again = false; void this.look(); }
	}

	/** An action on the graph becomes a change of the text, which the editor's history holds. */
	async act(action: Record<string, unknown>): Promise<boolean> {
		try {
			const text = this.editor.text();
			const changes = await call<{ from: number; to: number; insert: string }[]>("/api/act", { text, action });
			if (this.editor.text() !== text) return false;
			this.editor.apply(changes);
			await this.look();
			return true;
		} catch (e) { report(e); return false; }
	}

	load(name: string, text: string, path: string | null, mark: string | null): void {
		this.name = name;
		this.path = path;
		this.fileMark = mark;
		this.saved = path && mark ? text : path ? "" : text;
		this.sheet = null;
		const machine = /(?:--machine|-m)\s+([\w.-]+)/.exec(text.split(/^[^/\s]/m)[0]);
		this.machine = machine ? machine[1] : "smp-8";
		const workload = /(?:--workload|-w)\s+([\w:=,.%-]+)/.exec(text.split(/^[^/\s]/m)[0]);
		if (workload) this.workload = workload[1].replace(/[.,]$/, "");
		this.editor.load(text);
	}
}
