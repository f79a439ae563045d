// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A control socket that answers what one of a kernel has answered (recorded-status.json), again and again.
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

export function replay(socket) {
	const recorded = JSON.parse(readFileSync(new URL("recorded-status.json", import.meta.url), "utf8"));
	let at = 0, set = {};
	const step = recorded.at(-1).t_ns - recorded[0].t_ns;
	const next = () => {
		// The clock and the counters of the next lap go on where the last ended: its first answer is that lap's last.
		const lap = Math.max(0, Math.floor((at - 1) / (recorded.length - 1)));
		const s = structuredClone(recorded[at - lap * (recorded.length - 1)]);
		at++;
		const [first, last] = [recorded[0], recorded.at(-1)];
		s.t_ns += lap * step;
		s.uptime_ns += lap * step;
		s.pipes.forEach((p, n) => ["added", "removed", "lock_wait_ns", "lock_waits"].forEach((k) => (p[k] += lap * (last.pipes[n][k] - first.pipes[n][k]))));
		s.cpus.forEach((c, n) => (c.busy_ns += lap * (last.cpus[n].busy_ns - first.cpus[n].busy_ns)));
		s.instances.forEach((x) => (x.params = { ...x.params, ...set[x.name] }));
		return s;
	};
	const answer = (line) => {
		const wish = JSON.parse(line);
		if (wish.verb === "status") return next();
		if (wish.verb === "replace") { set[wish.instance] = { ...set[wish.instance], ...wish.params }; return switched(false); }
		return switched(wish.dry_run);
	};
	const switched = (dry_run) => ({ dry_run, report: { t_ns: 1, from: recorded[0].topology, to: "other", pause_ns: 120000, represented: 3, built: 9, kept: 0 }, pipes: 9, instances: 9, warnings: [] });
	const server = createServer((peer) => {
		let text = "";
		peer.on("data", (bytes) => { text += bytes; if (text.includes("\n")) peer.end(JSON.stringify({ ok: true, result: answer(text) }) + "\n"); });
		peer.on("error", () => {});
	});
	return new Promise((done) => server.listen(socket, () => done(server)));
}
