// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The comparison of several runs.

const D = DATA;

function numbers() {
  const head = el("tr", {}, el("th", { scope: "col" }, ""), D.columns.flatMap((c, i) => [
    el("th", { scope: "col" }, el("span", { style: `display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px;background:${color(i)}` }), c.title), i ? el("th", {}, "") : null].filter(Boolean)));
  const body = D.metrics.map((m) => {
    const peak = Math.max(...m.cells.map((c) => Math.abs(c[0])), 1e-12);
    return el("tr", {}, el("td", {}, m.name, m.better ? el("span", { style: "color:var(--faint)" }, m.better === "lower" ? " ↓" : " ↑") : null), m.cells.flatMap(([mean, , text, best], i) => {
      const cell = el("td", { class: best ? "best" : mean === 0 ? "zero" : undefined }, text, el("span", { class: "micro", style: `width:${Math.max(1, (100 * Math.abs(mean)) / peak)}%` }));
      const base = m.cells[0][0];
      return i ? [cell, el("td", { class: "ratio" }, base ? sig(mean / base) + "×" : "")] : [cell];
    }));
  });
  const best = D.seeds > 1 ? "Green: best of its line, or not clearly worse than the best." : "Green: best of its line.";
  section("Side by side", null, el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body))),
    el("p", { class: "note" }, best, ` ↓ less is better, ↑ more is. Ratios are to ${D.columns[0].title}.`));
}

function latencies() {
  const titles = { response: "Response time: from release to completion of a job", wakeup: "Wakeup latency: from ready to running" };
  const charts = [];
  const cells = ["response", "wakeup"].filter((f) => D.columns.some((c) => c[f].bins.length)).map((f) => {
    const chart = distribution(D.columns.map((c, i) => ({ name: c.title, fill: color(i), bins: c[f].bins })));
    charts.push(chart);
    return el("div", {}, el("h3", {}, titles[f]), chart.box);
  });
  if (cells.length) section("Latency", choice(["cumulative", "tail", "histogram"], (m) => charts.forEach((c) => c.setMode(m))), el("div", { class: "cols" }, cells));
}

function machine() {
  const names = ["tasks", "scheduler code", "waiting for locks", "idle"], fills = ["var(--busy)", "var(--sched)", "var(--lock)", "var(--idle)"];
  const row = (c) => ({ name: c.title, parts: c.shares.map((s, k) => [s, fills[k]]), value: pct(c.shares[0], 1000), extra: "busy",
    tip: [c.title, ...c.shares.map((s, k) => `${names[k]} ${pct(s, 1000)}`)] });
  const sched = (c) => ({ name: c.title, parts: [[c.shares[1], fills[1]], [c.shares[2], fills[2]]], value: pct(c.shares[1] + c.shares[2], 1000),
    tip: [c.title, `code ${pct(c.shares[1], 1000)}`, `waiting for locks ${pct(c.shares[2], 1000)}`] });
  const some = D.columns.some((c) => c.shares[1] + c.shares[2] > 0);
  section("The machine's time", null, el("div", { class: "cols" }, el("div", {}, el("h3", {}, "All of it"), bars(D.columns.map(row), 40)),
    some ? el("div", {}, el("h3", {}, "The scheduler's part, enlarged"), bars(D.columns.map(sched), 40)) : null), key(names.map((n, k) => [n, fills[k]])));
}

function reports() {
  if (!D.columns.some((c) => c.reports.length)) return;
  const safe = (href) => !/^[a-z][a-z0-9+.-]*:/i.test(href) && !href.startsWith("//");
  section("Reports of the runs", null, el("div", { class: "cols" }, D.columns.map((c) => el("div", {}, el("h3", {}, c.title), c.reports.filter((r) => safe(r[1])).map(([label, href]) => el("div", {}, el("a", { href }, label)))))));
}

numbers();
latencies();
machine();
reports();
