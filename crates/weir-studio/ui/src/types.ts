// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What the server says; crates/weir has the meanings (sheet.rs, stage/frame.rs).

export type Span = [number, number];
export interface Box {
	style: string; kind: "entry" | "component" | "annotator" | "cpus"; title: string; detail: string; topics: string[];
	box: [number, number, number, number]; strip: [number, number, number, number] | null; each: string; component: string; name: string;
	params: [string, string][]; cpus: string; firsts: number[]; count: number; at: Span | null;
}
export interface Line {
	from: number; to: number; path: string; tip: [number, number]; label_at: [number, number]; postponed: boolean; label: string; count: number; at: Span | null;
}
export interface Picture { width: number; height: number; rule: number | null; boxes: Box[]; lines: Line[] }
export interface Finding { error: boolean; code: string; message: string; help: string | null; file: string | null; at: Span | null; labels: [number, number, string][] }
export interface Sheet {
	topology: string; machine: string; nr_cpus: number; complete: boolean; size: [number, number, number] | null; findings: Finding[];
	picture: Picture | null; whens: [string, (string | null)[], number][];
}
export interface Param { name: string; unit: "ns" | "count" | "pct" | "bytes" | "flag"; help: string; default: string; min: string; max: string; range: [number, number] | null }
export interface Component {
	name: string; class: string; summary: string; ins: [number, number]; outs: [number, number]; manual: string; source: string; shown: Param[];
	asks: string[]; answers: string[]; needs: string[]; listens: string[]; publishes: string[]; kernel: unknown;
}
export interface Named { name: string; summary: string; machine: string | null }
export interface Opened { name: string; text: string; path: string | null; mark: string | null }
export interface Hello {
	version: string; file: Opened | null; topologies: Named[]; machines: Named[]; workloads: Named[]; presets: string[]; generators: string[];
	components: Component[]; results: { name: string; topology: string; machine: string; workload: string; p99: number | null; trace: string | null }[]; socket: string; perfetto: boolean;
}
export interface Spread { count: number; p50: number; p95: number; p99: number; max: number }
export interface Moment { what: string; at_ns: number; ns: number; task: string; number: number | null; cpu: number | null }
export interface Explanation {
	task: { id: number; name: string }; at_ns: number; from_ns: number; to_ns: number; ns: number; text: string; notes: string[];
	causes: { kind: string; ns: number; share: number }[]; steps: { depth: number; from_ns: number; text: string }[];
}
export interface Frame {
	take: number; state: "running" | "seeking" | "paused" | "done"; t_ns: number; dt_ns: number; events: number; topology: string;
	lines: number[][]; boxes: number[][]; cells: [number, number[]][]; busy: number[]; sched: number[]; running: (string | null)[];
	wakeup: [Spread, Spread]; response: [Spread, Spread]; jobs: number; misses: number; switches: number; migrations: number; preemptions: number;
	worst: Moment[]; log: [number, string][];
}
export interface Begun { id: number; topology: string; machine: string; workload: string; nr_cpus: number; duration_ns: number | null; picture: Picture; warnings: string[] }
