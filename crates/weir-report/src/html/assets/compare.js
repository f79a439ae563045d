// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The comparison of several runs.

const D = DATA;

/** As in the terminal's table: little is not nothing. */
function ratio(x) {
  return (x > 0 && x < 0.005 ? "<0.01" : sig(x)) + "×";
}

function numbers() {
  const head = el("tr", {}, el("th", { scope: "col" }, ""), D.columns.flatMap((c, i) => [
    el("th", { scope: "col" }, el("span", { style: `display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px;background:${color(i)}` }), c.title), i ? el("th", {}, "") : null].filter(Boolean)));
  const body = D.metrics.map((m) => {
    const peak = Math.max(...m.cells.map((c) => Math.abs(c[0])), 1e-12);
    return el("tr", {}, el("td", {}, m.name, m.better ? el("span", { style: "color:var(--faint)" }, m.better === "lower" ? " ↓" : " ↑") : null), m.cells.flatMap(([mean, , text, best], i) => {
      const cell = el("td", { class: best ? "best" : mean === 0 ? "zero" : undefined }, text, el("span", { class: "micro", style: `width:${Math.max(1, (100 * Math.abs(mean)) / peak)}%` }));
      const base = m.cells[0][0];
      return i ? [cell, el("td", { class: "ratio" }, base ? ratio(mean / base) : "")] : [cell];
    }));
  });
  const best = D.seeds > 1 ? "Green: best of its line, or not clearly worse than the best." : "Green: best of its line, or within 2 % of the best, as one run each says nothing about noise.";
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

function groups() {
  if (D.groups.length < 2) return;
  const kinds = [["missed", "missed"], ["response", "response p99"], ["wakeup", "wakeup p99"]].filter(([k]) => D.groups.some((g) => g[k].some((c) => c[0])));
  if (!kinds.length) return;
  const box = el("div", { class: "scroll" });
  const show = (k) => {
    const kind = kinds[k][0];
    const head = el("tr", {}, el("th", { scope: "col" }, "group"), D.columns.map((c) => el("th", { scope: "col" }, c.title)));
    box.replaceChildren(el("table", {}, el("thead", {}, head), el("tbody", {}, D.groups.map((g) => {
      const peak = Math.max(...g[kind].map((c) => c[0] || 0), 1e-12);
      return el("tr", {}, el("td", {}, g.name), g[kind].map(([mean, text, best]) =>
        el("td", { class: best ? "best" : mean ? undefined : "zero" }, text, el("span", { class: "micro", style: `width:${Math.max(1, (100 * (mean || 0)) / peak)}%` }))));
    }))));
  };
  show(0);
  section("By group of tasks", kinds.length > 1 ? choice(kinds.map((k) => k[1]), show) : null, box,
    D.nr_groups > D.groups.length ? el("p", { class: "note" }, `${num(D.groups.length)} of ${num(D.nr_groups)} groups of the first run: those with most misses and longest waits.`) : null);
}

/** One strip a topology, all on the axis of the longest run. */
function timelines() {
  const columns = D.columns.filter((c) => c.timeline.length && c.duration);
  if (!columns.length) return;
  const end = Math.max(...columns.map((c) => c.duration)), left = 130, stripH = 40, gap = 10, top = 20;
  const height = top + columns.length * (stripH + gap);
  const canvas = el("canvas", { role: "img", "aria-label": "where the machine's time went over the run, for each topology", style: `height:${height}px;width:100%;display:block` });
  let width = 800;
  const X = (t) => left + (t / end) * (width - left - 8);
  function draw() {
    const ratio = Math.min(3, devicePixelRatio || 1);
    width = canvas.clientWidth || 800;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    c.clearRect(0, 0, width, height);
    c.font = "11.5px system-ui, 'DejaVu Sans', sans-serif"; c.textBaseline = "middle";
    const soft = css("--soft"), step = tickStep(end, Math.max(3, width / 130)), fills = [css("--busy"), css("--sched"), css("--lock")];
    for (let t = 0; t <= end + 1e-9; t += step) { const x = X(t); c.fillStyle = soft; c.textAlign = x > width - 40 ? "right" : "center"; c.fillText(timeLabel(t, step, end), Math.min(x, width - 2), 8); c.fillStyle = css("--grid"); c.fillRect(x, top - 4, 1, height - top); }
    columns.forEach((col, r) => {
      const y = top + r * (stripH + gap), part = col.duration / col.timeline.length;
      c.textAlign = "right"; c.fillStyle = soft; c.fillText(col.title.length > 19 ? col.title.slice(0, 18) + "…" : col.title, left - 7, y + stripH / 2);
      c.fillStyle = css("--grid"); c.fillRect(left, y, X(col.duration) - left, stripH);
      col.timeline.forEach((p, i) => {
        let at = y + stripH;
        p.forEach((share, kind) => { const h = (share / 1000) * stripH; c.fillStyle = fills[kind]; c.fillRect(X(i * part), at - h, Math.ceil(X(part) - X(0)), h); at -= h; });
      });
    });
  }
  canvas.addEventListener("mousemove", (e) => {
    const box = canvas.getBoundingClientRect(), t = ((e.clientX - box.left - left) / (width - left - 8)) * end, col = columns[Math.floor((e.clientY - box.top - top) / (stripH + gap))];
    const p = col && t >= 0 && col.timeline[Math.floor((t / col.duration) * col.timeline.length)];
    showTip(e, p ? [col.title, "at " + stamp(Math.round(t)), `busy ${pct(p[0], 1000)}, scheduler ${pct(p[1], 1000)}, waiting for locks ${pct(p[2], 1000)}`] : []);
  });
  canvas.addEventListener("mouseleave", hideTip);
  section("Over time", null, canvas, key([["tasks", "var(--busy)"], ["scheduler code", "var(--sched)"], ["lock waiting", "var(--lock)"]]),
    el("p", { class: "note" }, "The first run of each, on one axis: where one ends earlier, its strip does."));
  redraw.push(draw);
  new ResizeObserver(draw).observe(canvas);
  draw();
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
timelines();
latencies();
groups();
machine();
reports();
