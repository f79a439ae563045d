// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The report of one run.

const D = DATA;
const groupIndex = new Map(D.groups.map((g, i) => [g.name, i]));
const groupColor = (name) => groupIndex.has(name) ? color(groupIndex.get(name)) : color(7);

/** Names that differ in a CPU or a number only, added up: `round_robin@cpu3` → `round_robin ×8`. */
function fold(items, keys) {
  const stem = (name) => name.replace(/@.*$/, "").replace(/\d+(\.\d+)*$/, "").replace(/[._\-#]$/, "");
  const out = new Map();
  for (const item of items) {
    const s = stem(item.name) || item.name;
    const sum = out.get(s) || { name: s, n: 0, one: item.name, max_depth: 0 };
    sum.n += 1;
    for (const k of keys) sum[k] = (sum[k] || 0) + item[k];
    sum.max_depth = Math.max(sum.max_depth, item.max_depth || 0);
    out.set(s, sum);
  }
  return [...out.values()].map((s) => ({ ...s, name: s.n > 1 ? `${s.name} ×${s.n}` : s.one }));
}

/** Bounding box of an element in the drawing's screen units. */
function boxIn(svg, node) {
  const m = node.getCTM && node.getCTM();
  if (!m) return null;
  const b = node.getBBox();
  const p = new DOMPoint(b.x, b.y).matrixTransform(m), q = new DOMPoint(b.x + b.width, b.y + b.height).matrixTransform(m);
  return { x: Math.min(p.x, q.x), y: Math.min(p.y, q.y), w: Math.abs(q.x - p.x), h: Math.abs(q.y - p.y) };
}
/** The transform that takes those units back to the drawing's own. */
function inverse(svg) {
  const probe = el("svg:g", {});
  svg.append(probe);
  const m = probe.getCTM();
  probe.remove();
  if (!m) return "";
  const i = m.inverse();
  return `matrix(${i.a},${i.b},${i.c},${i.d},${i.e},${i.f})`;
}

// ---- the graph with its numbers ----------------------------------------------------------------
function graph() {
  if (!D.graph) return;
  const doc = new DOMParser().parseFromString(D.graph, "image/svg+xml");
  const svg = doc.documentElement;
  if (svg.nodeName !== "svg") return;
  // A drawing has no business with scripts or links.
  for (const bad of svg.querySelectorAll("script, foreignObject, iframe")) bad.remove();
  for (const n of [svg, ...svg.querySelectorAll("*")]) for (const a of [...n.attributes]) {
    if (/^on/i.test(a.name) || (/href$/i.test(a.name) && !a.value.startsWith("#"))) n.removeAttribute(a.name);
  }
  const frame = el("div", { class: "graph" }, svg);
  // A drawing that knows of dark screens follows the page's button; another one is inverted.
  const media = () => [...svg.querySelectorAll("style")].flatMap((n) => (n.sheet ? [...n.sheet.cssRules] : [])).filter((r) => r.media && (r.dark = r.dark || /color-scheme:\s*dark/.test(r.media.mediaText)));
  const themed = () => {
    const rules = media();
    for (const r of rules) r.media.mediaText = root.dataset.theme === "dark" ? "all" : "not all";
    frame.classList.toggle("adapts", rules.length > 0);
  };
  redraw.push(themed);
  const heat = (f) => { // white - yellow - red - dark red
    const stops = [[222, 228, 236], [255, 209, 92], [232, 72, 52], [140, 10, 40]];
    const x = Math.min(0.9999, Math.max(0, f)) * 3, i = Math.floor(x), t = x - i;
    return `rgb(${stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * t)).join(",")})`;
  };
  const waits = D.pipes.some((p) => p.lock_wait_ns > 0);
  const locked = D.pipes.some((p) => p.lock_held_ns > 0);
  const [what, measure] = waits ? ["waiting for the pipe's lock", (p) => p.lock_wait_ns] : locked ? ["holding the pipe's lock", (p) => p.lock_held_ns] : ["mean depth", (p) => p.mean_depth];
  // Colours mean the same in every report: of the machine's time less than a thousandth is nothing, a tenth is all there is. Depths: four
  // tasks for each CPU.
  const room = D.duration * Math.max(1, D.cpus.length);
  const ofTime = (ns) => (ns < room / 1000 ? 0 : Math.sqrt(Math.min(1, ns / room / 0.1)));
  const level = waits || locked ? ofTime : (depth) => Math.sqrt(Math.min(1, depth / (4 * Math.max(1, D.cpus.length))));
  // One drawn element may stand for several pipes or instances: names or indices, blanks between.
  const find = (list, attr) => {
    const byName = list.filter((p) => p.name === attr);
    return byName.length ? byName : attr.split(/[\s,]+/).flatMap((w) => { const hit = list.find((p) => p.name === w) || (/^\d+$/.test(w) ? list[+w] : null); return hit ? [hit] : []; });
  };
  const sum = (list, k) => list.reduce((a, p) => a + p[k], 0);
  const section_ = section("Topology", el("span", { class: "key" }, el("span", {}, what), el("span", {}, "none", el("span", { class: "ramp", style: `background:linear-gradient(90deg,${[0, .33, .67, 1].map(heat).join(",")})` }), waits || locked ? "10 % of the CPU time" : "4 tasks a CPU")),
    frame, el("p", { class: "note" }, "Pipes are coloured by what the scale says, and labelled with it and their mean depth; components with a warm border used a thousandth of the CPU time or more. Point at either for its numbers."));
  themed();
  // Larger than drawn where there is room: the numbers need some between the boxes.
  const natural = svg.viewBox.baseVal;
  if (natural && natural.width) svg.style.width = Math.max(1, Math.min(1.5, (frame.clientWidth - 20) / natural.width, 690 / natural.height)) * natural.width + "px";
  const labels = [];
  for (const node of svg.querySelectorAll("[data-pipe]")) {
    const pipes = find(D.pipes, node.getAttribute("data-pipe"));
    if (!pipes.length) continue;
    const value = Math.max(...pipes.map(measure));
    const fill = heat(level(value));
    const arrow = node.nextElementSibling;
    for (const shape of node.matches("path,line,polyline") ? [node] : node.querySelectorAll("path,line,polyline")) {
      if (shape.closest("marker")) continue;
      shape.style.stroke = fill;
      shape.style.strokeWidth = 1.6 + 3 * level(value);
    }
    if (arrow && arrow.classList.contains("tip")) arrow.style.fill = fill;
    tips(node, () => [pipes.length > 1 ? `${pipes.length} pipes: ${pipes[0].name} …` : pipes[0].name,
      `waiting for the lock ${dur(sum(pipes, "lock_wait_ns"))}`, `lock held ${dur(sum(pipes, "lock_held_ns"))}`,
      `depth ${sig(sum(pipes, "mean_depth") / pipes.length)} on average, ${num(Math.max(...pipes.map((p) => p.max_depth)))} at most`]);
    labels.push([node, value, pipes]);
  }
  const costs = [];
  for (const node of svg.querySelectorAll("[data-instance]")) {
    const list = find(D.components, node.getAttribute("data-instance"));
    if (!list.length) continue;
    const ns = sum(list, "ns");
    const shape = node.matches("rect,polygon,ellipse") ? node : [...node.children].filter((n) => /^(rect|polygon|ellipse)$/.test(n.tagName)).pop();
    if (shape && ns > 0) {
      const f = ofTime(Math.max(...list.map((c) => c.ns)));
      if (f > 0) {
        shape.style.stroke = heat(0.25 + 0.75 * f);
        shape.style.strokeWidth = 1.5 + 2 * f;
      }
      costs.push([shape, ns, list]);
    }
    tips(node, () => [list.length > 1 ? `${list.length} instances: ${list[0].name} …` : list[0].name, `${dur(ns)} of code in ${num(sum(list, "updates"))} updates`,
      ns ? `${dur(ns / Math.max(1, sum(list, "updates")))} an update, ${pct(ns, D.scheduler)} of scheduler time` : ""].filter(Boolean));
  }
  // Numbers beside the busiest pipes, where there is room on the pipe.
  labels.sort((a, b) => b[1] - a[1]);
  const taken = [...svg.querySelectorAll("[data-instance], .pipe-label, .name, .tag")].map((n) => boxIn(svg, n)).filter(Boolean);
  const unit = inverse(svg);
  const half = (label) => (5.6 * label.length + 9) / 2;
  const badge = (label, x, y) => {
    const width = 2 * half(label), height = 14, box = { x: x - width / 2, y: y - height / 2, w: width, h: height };
    if (taken.some((t) => t.x < box.x + box.w && box.x < t.x + t.w && t.y < box.y + box.h && box.y < t.y + t.h)) return false;
    taken.push(box);
    svg.append(el("svg:g", { class: "badge", "pointer-events": "none", transform: `${unit} translate(${box.x},${box.y})` },
      el("svg:rect", { width, height, rx: 4 }), el("svg:text", { x: width / 2, y: 10.4 }, label)));
    return true;
  };
  const pathOf = (node) => (node.matches("path") ? node : node.querySelector("path"));
  const ends = labels.map((l) => pathOf(l[0])).filter(Boolean).slice(0, 4000).flatMap((path) => {
    try { return [path.getPointAtLength(path.getTotalLength()).matrixTransform(path.getCTM())]; } catch { return []; }
  });
  for (const [node, value, pipes] of labels.slice(0, 60)) {
    const path = pathOf(node);
    if (!path || !value) continue;
    const depth = "depth " + sig(+(sum(pipes, "mean_depth") / pipes.length).toFixed(2));
    const time = waits || locked ? dur(sum(pipes, waits ? "lock_wait_ns" : "lock_held_ns")) : null;
    let from, to, middle;
    try {
      const length = path.getTotalLength(), m = path.getCTM();
      [from, middle, to] = [0, 0.5, 1].map((part) => path.getPointAtLength(length * part).matrixTransform(m));
    } catch { continue; }
    const short = time || depth, long = time ? time + ", " + depth : depth;
    // A level pipe has its label above the middle; one of a fan where it is alone: at its end, or at its
    // beginning where many come together.
    const level = Math.abs(from.y - to.y) < 8;
    const meet = ends.filter((e) => Math.abs(e.x - to.x) < 4 && Math.abs(e.y - to.y) < 14).length > 1;
    const [x, y] = meet ? [from.x + half(short) + 6, from.y] : [to.x - half(short) - 10, to.y];
    (level && [[long, middle.x, middle.y - 13], [long, middle.x, middle.y + 13], [short, middle.x, middle.y - 13]].some((spot) => badge(...spot)))
      || [[short, x, y - 10], [short, x, y + 10], [short, middle.x, middle.y]].some((spot) => badge(...spot));
  }
  costs.sort((a, b) => b[1] - a[1]);
  for (const [shape, ns] of costs.slice(0, 60)) {
    const box = boxIn(svg, shape), label = dur(ns) + " code";
    if (box) [[box.x + box.w - half(label), box.y + box.h + 9], [box.x + half(label), box.y + box.h + 9], [box.x + box.w / 2, box.y - 10]].some(([x, y]) => badge(label, x, y));
  }
  return section_;
}

// ---- the run at a glance -------------------------------------------------------------------------
/** Shows a time span and a CPU in the Gantt chart; set where there is one. */
let jump = null;
let shownSpan = () => null;

function overview() {
  const O = D.overview;
  if (!O || !D.duration || !O.all.length) return;
  const left = 110, stripH = 54, gap = 6, parts = O.all.length;
  const rowH = O.places.length > 40 ? 7 : O.places.length > 12 ? 13 : 18;
  const height = 20 + stripH + (O.places.length ? gap + O.places.length * rowH : 0);
  const canvas = el("canvas", { role: "img", "aria-label": "shares of time over the run, by group of CPUs", style: `height:${height}px;width:100%;display:block` });
  let width = 800;
  const top = 20, rowsTop = top + stripH + gap;
  const X = (part) => left + (part / parts) * (width - left - 8);
  function draw() {
    const ratio = Math.min(3, devicePixelRatio || 1);
    width = canvas.clientWidth || 800;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    c.clearRect(0, 0, width, height);
    c.font = "11.5px system-ui, 'DejaVu Sans', sans-serif"; c.textBaseline = "middle";
    const soft = css("--soft"), step = tickStep(D.duration, Math.max(3, width / 130));
    c.fillStyle = soft;
    for (let t = 0; t <= D.duration + 1e-9; t += step) { const x = X((t / D.duration) * parts); c.textAlign = x > width - 40 ? "right" : "center"; c.fillText(timeLabel(t, step, D.duration), Math.min(x, width - 2), 8); }
    c.fillStyle = css("--grid"); c.fillRect(left, top, width - left - 8, stripH);
    const fills = [css("--busy"), css("--sched"), css("--lock")];
    O.all.forEach((p, i) => {
      let y = top + stripH;
      p.forEach((share, kind) => { const h = (share / 1000) * stripH; c.fillStyle = fills[kind]; c.fillRect(X(i), y - h, Math.ceil(X(1) - X(0)), h); y -= h; });
    });
    c.textAlign = "right"; c.fillStyle = soft; c.fillText("whole machine", left - 7, top + stripH / 2);
    O.places.forEach((g, r) => {
      const y = rowsTop + r * rowH;
      for (let i = 0; i < parts; i++) {
        if (g.busy[i]) { c.globalAlpha = 0.08 + 0.92 * g.busy[i] / 1000; c.fillStyle = fills[0]; c.fillRect(X(i), y, Math.ceil(X(1) - X(0)), rowH - 1); }
        if (g.lock[i]) { c.globalAlpha = Math.min(1, 0.25 + g.lock[i] / 250); c.fillStyle = fills[2]; c.fillRect(X(i), y + rowH - 3, Math.ceil(X(1) - X(0)), 2); }
      }
      c.globalAlpha = 1;
      if (r % Math.ceil(12 / rowH) === 0) { c.fillStyle = soft; c.fillText(g.name, left - 7, y + rowH / 2); }
    });
    const seen = shownSpan();
    if (seen && seen[1] - seen[0] < D.duration) {
      c.strokeStyle = css("--accent"); c.lineWidth = 1.5;
      const x0 = X((seen[0] / D.duration) * parts), x1 = X((seen[1] / D.duration) * parts);
      c.strokeRect(x0, top - 2, Math.max(3, x1 - x0), height - top);
    }
  }
  const where = (e) => {
    const box = canvas.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
    const part = Math.floor(((x - left) / (width - left - 8)) * parts), r = Math.floor((y - rowsTop) / rowH);
    return part < 0 || part >= parts ? null : { part, place: O.places[r] };
  };
  canvas.addEventListener("mousemove", (e) => {
    const at = where(e);
    if (!at) return hideTip();
    const span = D.duration / parts, from = "from " + stamp(Math.round(at.part * span)) + " for " + dur(span);
    const g = at.place;
    showTip(e, g ? [g.name, `${num(g.cpus)} CPUs from ${g.first} on`, from, `busy ${pct(g.busy[at.part], 1000)}, waiting for locks ${pct(g.lock[at.part], 1000)}`]
      : ["whole machine", from, `busy ${pct(O.all[at.part][0], 1000)}, scheduler ${pct(O.all[at.part][1], 1000)}, waiting for locks ${pct(O.all[at.part][2], 1000)}`]);
  });
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("click", (e) => {
    const at = where(e), span = D.duration / parts;
    if (at && jump) jump(Math.max(0, (at.part - 1) * span), Math.min(D.duration, (at.part + 2) * span), at.place ? at.place.first : null);
  });
  const s = section("The run at a glance", null, canvas, key([["tasks", "var(--busy)"], ["scheduler code", "var(--sched)"], ["lock waiting", "var(--lock)"]]),
    el("p", { class: "note" }, O.places.length ? "One row for each last-level cache, or group of neighbouring CPUs. " : "", "Click: show the place in the chart below."));
  if (O.worst.length) {
    const title = { "late job": "late job", wakeup: "late wake-up", lock: "wait for a lock" };
    s.append(el("h3", { style: "margin-top:16px" }, "Worst moments"), el("div", { class: "scroll" }, el("table", { class: "worst" }, el("tbody", {}, O.worst.map(([what, at, ns, name, cpu]) =>
      el("tr", {}, el("td", {}, title[what]), el("td", {}, dur(ns)), el("td", {}, name), el("td", {}, cpu < 0 ? "" : D.cpus[cpu] ? D.cpus[cpu].name : `CPU ${cpu}`),
        el("td", {}, el("button", { onclick: () => jump && jump(Math.max(0, at - ns * 1.2), Math.min(D.duration, at + ns * 0.3 + 1000), cpu < 0 ? null : cpu) }, "at " + stamp(at)))))))));
  }
  redraw.push(draw);
  new ResizeObserver(draw).observe(canvas);
  overview.draw = draw;
  draw();
}

// ---- the Gantt chart -----------------------------------------------------------------------------
function gantt() {
  const G = D.gantt;
  if (!G || !D.duration) return;
  const rows = D.cpus.map((cpu, i) => {
    const flat = G.runs[i] || [], runs = { b: [], e: [], task: [], used: [] };
    for (let k = 0, t = 0; k < flat.length;) {
      t += flat[k]; runs.b.push(t); t += flat[k + 1]; runs.e.push(t);
      const code = flat[k + 2]; k += 3;
      runs.task.push((code >> 1) - 1);
      runs.used.push(code & 1 ? flat[k++] / 1000 : 1);
    }
    const s = G.sched[i] || [], sched = { b: [], e: [], used: [], lock: [] };
    for (let k = 0, t = 0; k < s.length; k += 4) {
      t += s[k]; sched.b.push(t); t += s[k + 1]; sched.e.push(t); sched.used.push(s[k + 2] / 1000); sched.lock.push(s[k + 3] / 1000);
    }
    return { cpu, runs, sched };
  });
  const fills = G.tasks.map((t) => groupColor(t[2] || t[1]));
  const single = (i) => G.tasks[i][0] < 2 ** 31;
  const n = rows.length, end = D.duration;
  const left = 86, worded = G.marks.some((m) => m[1] !== "miss"), top = worded ? 40 : 24;
  const height = Math.min(580, Math.max(150, top + 6 + n * 24));
  const rowH = Math.max(5, Math.min(24, (height - top - 6) / n));
  const visibleRows = Math.floor((height - top - 4) / rowH);
  const minSpan = 200;
  const view = { a: 0, b: end, row: 0 };
  const canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": "which task ran on which CPU when", style: `height:${height}px` });
  let picked = null, hoverX = null;
  const search = el("input", { type: "search", placeholder: "highlight a task", "aria-label": "highlight a task", oninput: () => { picked = null; draw(); } });
  const zoomBy = (f, at) => {
    const span = Math.min(end, Math.max(minSpan, (view.b - view.a) * f));
    const mid = at === undefined ? (view.a + view.b) / 2 : at;
    const rel = (mid - view.a) / (view.b - view.a);
    view.a = Math.max(0, Math.min(end - span, mid - rel * span)); view.b = view.a + span; draw();
  };
  shownSpan = () => [view.a, view.b];
  jump = (a, b, cpu, task) => {
    if (task) picked = G.tasks.some((t) => t[0] === +task) ? +task : null;
    const mid = (a + b) / 2, span = Math.min(end, Math.max(minSpan, b - a));
    view.a = Math.max(0, Math.min(end - span, mid - span / 2)); view.b = view.a + span;
    if (cpu !== null) view.row = Math.max(0, Math.min(Math.max(0, n - visibleRows), cpu - Math.floor(visibleRows / 2)));
    draw();
    canvas.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  const panBy = (ns) => { const span = view.b - view.a; view.a = Math.max(0, Math.min(end - span, view.a + ns)); view.b = view.a + span; draw(); };
  const controls = el("div", { class: "screen", style: "display:flex;gap:8px;flex-wrap:wrap" }, search,
    el("button", { title: "zoom in", onclick: () => zoomBy(0.5) }, "+"), el("button", { title: "zoom out", onclick: () => zoomBy(2) }, "−"),
    el("button", { onclick: () => { view.a = 0; view.b = end; view.row = 0; picked = null; search.value = ""; draw(); } }, "whole run"));
  const names = [...new Set(G.tasks.map((t) => t[2] || t[1]))];
  const keyItems = names.slice(0, 14).map((g) => [g, groupColor(g)]);
  section("Where tasks ran", controls, canvas,
    el("div", { class: "key" }, keyItems.map(([name, fill]) => el("button", { title: "highlight this group", onclick: () => { search.value = search.value === name ? "" : name; picked = null; draw(); } }, el("i", { style: "background:" + fill }), name)),
      names.length > 14 ? el("span", {}, `… ${names.length - 14} more`) : null,
      el("span", {}, el("i", { style: "background:var(--sched)" }), "scheduler code (strip below)"), el("span", {}, el("i", { style: "background:var(--lock)" }), "lock waiting, missed deadlines")),
    el("p", { class: "note" }, "Wheel: zoom · drag or shift + wheel: move · click: follow a task · double click: whole run · keys: w a s d or arrows. ",
      G.quantum ? `Slices closer than ${dur(G.quantum)} are drawn as one, paler by their idle share; trace.pftrace has every slice.` : "Every slice is here.",
      G.marks_left_out ? ` ${num(G.marks_left_out)} of the missed deadlines and other marks are left out, evenly over time.` : ""));

  const lower = (list, t) => { let a = 0, b = list.length; while (a < b) { const m = (a + b) >> 1; if (list[m] < t) a = m + 1; else b = m; } return a; };
  let width = 800;
  const X = (t) => left + ((t - view.a) / (view.b - view.a)) * (width - left - 8);
  const T = (x) => view.a + ((x - left) / (width - left - 8)) * (view.b - view.a);

  function draw() {
    const ratio = Math.min(3, devicePixelRatio || 1);
    width = canvas.clientWidth || 800;
    canvas.width = width * ratio; canvas.height = height * ratio;
    const c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    const ink = css("--ink"), soft = css("--soft"), grid = css("--grid"), sched = css("--sched"), lock = css("--lock"), faint = css("--faint"), line = css("--line");
    c.clearRect(0, 0, width, height);
    c.font = "11.5px system-ui, 'DejaVu Sans', sans-serif"; c.textBaseline = "middle";
    const span = view.b - view.a, step = tickStep(span, Math.max(3, width / 130));
    c.textAlign = "center";
    for (let t = Math.ceil(view.a / step) * step; t <= view.b + 1e-9; t += step) {
      const x = X(t);
      c.fillStyle = grid; c.fillRect(x, top - 4, 1, height - top);
      c.fillStyle = soft; c.textAlign = x > width - 40 ? "right" : "center"; c.fillText(timeLabel(t, step, view.b), Math.min(x, width - 2), 8);
    }
    const word = search.value.toLowerCase();
    const match = G.tasks.map((t) => (picked === null || t[0] === picked) && (!word || t[1].toLowerCase().includes(word) || t[2].toLowerCase() === word));
    const all = picked === null && !word;
    const first = Math.floor(view.row), last = Math.min(n, first + visibleRows + 1);
    c.save();
    c.beginPath(); c.rect(left, 14, width - left - 8, height - 14); c.clip();
    const barH = Math.max(2, Math.floor(rowH * (rowH > 12 ? 0.62 : 0.72))), stripH = Math.max(1, Math.round(rowH * 0.16));
    for (let r = first; r < last; r++) {
      const y = top + (r - view.row) * rowH, runs = rows[r].runs, s = rows[r].sched;
      if (rowH > 8) { c.fillStyle = grid; c.fillRect(left, y + rowH - 1, width - left, 1); }
      let edge = -1;
      for (let k = lower(runs.e, view.a); k < runs.b.length && runs.b[k] < view.b; k++) {
        const x0 = Math.max(left, X(runs.b[k])), x1 = Math.min(width, X(runs.e[k]));
        if (x1 <= edge) continue; // less than a pixel after the last one
        const w = Math.max(0.7, x1 - x0 - (x1 - x0 > 4 ? 0.6 : 0));
        edge = Math.floor(Math.max(x1, x0 + 0.5));
        const i = runs.task[k];
        const on = all || (i >= 0 && match[i]);
        c.globalAlpha = on ? 0.3 + 0.7 * runs.used[k] : 0.13;
        c.fillStyle = i >= 0 ? fills[i] : faint;
        c.fillRect(x0, y + 1, w, barH);
        if (w > 34 && barH >= 11 && i >= 0 && single(i)) {
          c.globalAlpha = on ? 1 : 0.35; c.fillStyle = runs.used[k] < 0.7 ? ink : "#fff"; c.textAlign = "left";
          const name = G.tasks[i][1];
          const fit = Math.floor((w - 8) / 6.3);
          if (fit > 2) c.fillText(name.length > fit ? name.slice(0, fit - 1) + "…" : name, x0 + 4, y + 2 + barH / 2);
        }
      }
      c.globalAlpha = 1;
      edge = -1;
      for (let k = lower(s.e, view.a); k < s.b.length && s.b[k] < view.b; k++) {
        const x0 = Math.max(left, X(s.b[k])), x1 = Math.min(width, X(s.e[k]));
        if (x1 <= edge) continue;
        edge = x1;
        c.globalAlpha = 0.35 + 0.65 * s.used[k];
        const w = Math.max(0.6, x1 - x0), waiting = s.used[k] ? w * Math.min(1, s.lock[k] / s.used[k]) : 0;
        c.fillStyle = sched; c.fillRect(x0, y + 2 + barH, w, stripH);
        if (waiting) { c.fillStyle = lock; c.fillRect(x0, y + 2 + barH, Math.max(0.6, waiting), stripH); }
      }
      c.globalAlpha = 1;
    }
    let wordEnd = 0;
    for (const [t, kind, text] of G.marks) {
      if (t < view.a || t > view.b) continue;
      const x = X(t);
      if (kind === "miss") { c.fillStyle = lock; c.globalAlpha = 0.55; c.fillRect(x - 0.5, top, 1, 7); c.globalAlpha = 1; c.beginPath(); c.moveTo(x - 3.5, top - 5); c.lineTo(x + 3.5, top - 5); c.lineTo(x, top + 1); c.fill(); }
      else {
        c.fillStyle = css("--accent"); c.fillRect(x - 0.75, top - 18, 1.5, height);
        const back = x > width - 160, room = c.measureText(text).width + 12;
        if (x - wordEnd < 2 && !back) continue; // no room for the word after the last one
        wordEnd = back ? x : x + room;
        c.textAlign = back ? "right" : "left"; c.fillText(text, x + (back ? -4 : 4), top - 13);
      }
    }
    if (hoverX !== null) { c.fillStyle = faint; c.fillRect(hoverX, top - 4, 1, height); }
    c.restore();
    c.fillStyle = line; c.fillRect(left - 1, top - 4, 1, height);
    c.textAlign = "right"; c.fillStyle = soft;
    const every = Math.ceil(13 / rowH);
    for (let r = first; r < last; r += 1) if (r % every === 0) {
      let name = rows[r].cpu.name; if (name.length > 13) name = name.slice(0, 12) + "…";
      const y = top + (r - view.row) * rowH + Math.max(rowH / 2, 6);
      if (y < height - 3) c.fillText(name, left - 7, y - (rowH > 12 ? 1 : 0));
    }
    if (overview.draw) overview.draw();
    if (n > visibleRows) { // where in the list of CPUs
      const track = height - top;
      c.fillStyle = grid; c.fillRect(width - 6, top, 5, track);
      c.fillStyle = faint; c.fillRect(width - 6, top + (view.row / n) * track, 5, Math.max(12, (visibleRows / n) * track));
    }
  }
  const at = (e) => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
  function under(x, y) {
    const r = Math.floor((y - top) / rowH + view.row);
    if (x < left || y < top || r < 0 || r >= n) return null;
    const t = T(x), slack = (view.b - view.a) / (width - left) * 1.5;
    const find = (l) => { for (let k = Math.max(0, lower(l.e, t - slack)); k < l.b.length && l.b[k] <= t + slack; k++) return k; return -1; };
    const strip = (y - top - (r - view.row) * rowH) > rowH * 0.72;
    return { r, t, k: find(rows[r].runs), s: find(rows[r].sched), strip };
  }
  function describe(x, y) {
    for (const [t, kind, text] of G.marks) if (y < top + 4 && Math.abs(X(t) - x) < 4) return [kind === "miss" ? `${text} missed its deadline` : text, "at " + stamp(t)];
    const u = under(x, y);
    if (!u) return [];
    const { runs, sched, cpu } = rows[u.r], lines = [];
    if (u.s >= 0 && (u.strip || u.k < 0)) {
      lines.push("scheduler code", `${cpu.name}, ${dur((sched.e[u.s] - sched.b[u.s]) * sched.used[u.s])} before ${stamp(sched.e[u.s])}`);
      if (sched.lock[u.s] > 0) lines.push(`${dur((sched.e[u.s] - sched.b[u.s]) * sched.lock[u.s])} of it waiting for locks`);
    } else if (u.k >= 0) {
      const i = runs.task[u.k], len = runs.e[u.k] - runs.b[u.k];
      lines.push(i >= 0 ? G.tasks[i][1] : "several tasks");
      if (i >= 0) lines.push(`${single(i) ? `task ${G.tasks[i][0]}, ` : ""}${G.tasks[i][2] ? "group " + G.tasks[i][2] : "no group"}`);
      lines.push(`${cpu.name}, from ${stamp(runs.b[u.k])} for ${dur(len)}`);
      if (runs.used[u.k] < 1 || i < 0) lines.push(`several slices, busy ${pct(runs.used[u.k], 1)} of the time`);
    } else lines.push(`${cpu.name} idle`, "at " + stamp(u.t));
    return lines;
  }
  let drag = null;
  canvas.addEventListener("pointerdown", (e) => { const [x, y] = at(e); drag = { x, y, a: view.a, row: view.row, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    const [x, y] = at(e);
    hoverX = x > left ? x : null;
    if (drag) {
      if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4) { drag.moved = true; canvas.classList.add("dragging"); }
      if (drag.moved) {
        const span = view.b - view.a;
        view.a = Math.max(0, Math.min(end - span, drag.a - ((x - drag.x) / (width - left)) * span)); view.b = view.a + span;
        view.row = Math.max(0, Math.min(Math.max(0, n - visibleRows), drag.row - (y - drag.y) / rowH));
        hideTip();
      }
    } else showTip(e, describe(x, y));
    draw();
  });
  canvas.addEventListener("pointerup", (e) => {
    canvas.classList.remove("dragging");
    if (drag && !drag.moved) {
      const u = under(...at(e)), i = u && u.k >= 0 ? rows[u.r].runs.task[u.k] : -1;
      const id = i >= 0 && single(i) ? G.tasks[i][0] : null;
      picked = picked === id ? null : id;
      draw();
      // In a frame of the studio what was clicked is explained there.
      if (id !== null && parent !== window) parent.postMessage({ runweir: "moment", task: id, at: u.t }, "*");
    }
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => { hoverX = null; hideTip(); draw(); });
  canvas.addEventListener("dblclick", () => { view.a = 0; view.b = end; picked = null; draw(); });
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault(); hideTip();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) panBy(((e.deltaX || e.deltaY) / 800) * (view.b - view.a));
    else if (e.altKey) { view.row = Math.max(0, Math.min(Math.max(0, n - visibleRows), view.row + e.deltaY / 30)); draw(); }
    else zoomBy(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 240))), Math.max(view.a, T(at(e)[0])));
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const step = (view.b - view.a) * 0.2, moves = {
      w: () => zoomBy(0.7), "+": () => zoomBy(0.7), s: () => zoomBy(1.4), "-": () => zoomBy(1.4), a: () => panBy(-step), ArrowLeft: () => panBy(-step), d: () => panBy(step), ArrowRight: () => panBy(step),
      ArrowUp: () => { view.row = Math.max(0, view.row - 4); draw(); }, ArrowDown: () => { view.row = Math.max(0, Math.min(n - visibleRows, view.row + 4)); draw(); },
    };
    if (moves[e.key]) { e.preventDefault(); moves[e.key](); }
  });
  redraw.push(draw);
  new ResizeObserver(draw).observe(canvas);
  draw();
}

// ---- latencies -----------------------------------------------------------------------------------
function latencies() {
  const has = [D.groups.some((g) => g.response.bins.length), D.groups.some((g) => g.wakeup.bins.length)];
  if (!has[0] && !has[1]) return;
  const fields = ["response", "wakeup"].filter((_, i) => has[i]);
  const titles = { response: "Response time: from release to completion of a job", wakeup: "Wakeup latency: from ready to running" };
  const charts = [];
  const cells = fields.map((f) => {
    const used = D.groups.map((g, i) => ({ name: g.name, fill: color(i), bins: g[f].bins, n: g[f].bins.reduce((a, b) => a + b[1], 0) })).filter((s) => s.n);
    const top = [...used].sort((a, b) => b.n - a.n).slice(0, 8);
    const series = used.filter((s) => top.includes(s));
    if (used.length > series.length) series.unshift({ name: `all ${used.length} groups`, fill: css("--ink"), bins: D.all[f === "response" ? 0 : 1].bins });
    const chart = distribution(series);
    charts.push(chart);
    return el("div", {}, el("h3", {}, titles[f]), chart.box);
  });
  const mode = choice(["cumulative", "tail", "histogram"], (m) => charts.forEach((c) => c.setMode(m)));
  const names = ["min", "mean", "p50", "p95", "p99", "max"];
  const columns = [{ name: "group", get: (g) => g.name, left: true }, { name: "tasks", get: (g) => g.tasks, show: num }, { name: "jobs", get: (g) => g.jobs, show: num },
    { name: "missed", get: (g) => g.missed, show: num, cls: () => "bad" }, { name: "CPU time", get: (g) => g.cpu, show: dur }, { name: "waiting", get: (g) => g.wait, show: dur },
    ...fields.flatMap((f) => (fields.length > 1 ? ["p50", "p99", "max"] : names).map((p) => ({ name: (f === "response" ? "response " : "wakeup ") + p, get: (g) => g[f].dist[names.indexOf(p)], show: dur })))];
  const s = section("Latency", mode, el("div", { class: "cols" }, cells), el("div", { style: "height:16px" }), sortable(columns, D.groups, 16));
  if (D.nr_groups > D.groups.length) s.append(el("p", { class: "note" }, `${num(D.groups.length)} of ${num(D.nr_groups)} groups, those with most misses and jobs.`));
}

// ---- where scheduler time went -------------------------------------------------------------------
function schedulerTime() {
  if (!D.scheduler && !D.pipes.some((p) => p.max_depth)) return;
  const S = "var(--sched)", L = "var(--lock)", code = Math.max(0, D.scheduler - D.lock_wait);
  const cols = [];
  const calls = [...D.calls].sort((a, b) => b.ns - a.ns).filter((c) => c.ns);
  if (calls.length) cols.push(["By call", () => bars(calls.map((c) => ({
    name: c.call, parts: [[c.ns - Math.min(c.ns, c.lock_wait_ns), S], [Math.min(c.ns, c.lock_wait_ns), L]], value: dur(c.ns), extra: pct(c.ns, D.scheduler),
    tip: [c.call, `${num(c.count)} calls, ${dur(c.ns / c.count)} each`, `${dur(c.lock_wait_ns)} waiting for locks`],
  })), 12)]);
  // What is left of the code is the framework's own: pipes, broker, bookkeeping.
  const own = code - D.components.reduce((a, c) => a + c.ns, 0);
  const component = (each) => {
    const rows = (each ? D.components : fold(D.components, ["ns", "updates"])).filter((c) => c.ns).map((c) => ({
      name: c.name, ns: c.ns, fill: S, tip: [c.name, `${num(c.updates)} updates, ${dur(c.ns / Math.max(1, c.updates))} each`] }));
    if (own > 0) rows.push({ name: "pipes and broker", ns: own, fill: "var(--faint)", tip: ["the framework itself", "pipes, broker, bookkeeping: scheduler code that is not a component's"] });
    return bars(rows.sort((a, b) => b.ns - a.ns).map((r) => ({ name: r.name, parts: [[r.ns, r.fill]], value: dur(r.ns), extra: pct(r.ns, D.scheduler), tip: r.tip })), 12);
  };
  if (D.components.some((c) => c.ns)) cols.push(["By component", component]);
  const pipe = (each) => bars((each ? D.pipes : fold(D.pipes, ["lock_held_ns", "lock_wait_ns", "mean_depth"])).filter((p) => p.lock_held_ns + p.lock_wait_ns).sort((a, b) => b.lock_wait_ns - a.lock_wait_ns || b.lock_held_ns - a.lock_held_ns).map((p) => ({
    name: p.name, parts: [[p.lock_held_ns, "var(--busy)"], [p.lock_wait_ns, L]], value: dur(p.lock_wait_ns), extra: "waited",
    tip: [p.name, `lock held ${dur(p.lock_held_ns)}`, `waited for it ${dur(p.lock_wait_ns)}`, p.lock_held_ns ? `${sig(p.lock_wait_ns / p.lock_held_ns)} waited per unit held` : "", `at most ${num(p.max_depth)} tasks in it`].filter(Boolean),
  })), 12);
  if (D.pipes.some((p) => p.lock_held_ns + p.lock_wait_ns)) cols.push(["By pipe: lock held and waited for", pipe]);
  if (!cols.length) return;
  const holders = cols.map(([title, make]) => { const body = el("div", {}, make(false)); return { box: el("div", {}, el("h3", {}, title), body), body, make }; });
  const many = [D.components, D.pipes].some((l) => fold(l, []).length < l.length);
  const control = many ? choice(["by kind", "each one"], (i) => holders.forEach((h) => h.body.replaceChildren(h.make(i === 1)))) : null;
  const parts = [["tasks", D.busy, "var(--busy)"], ["scheduler code", code, S], ["waiting for locks", Math.min(D.lock_wait, D.scheduler), L], ["idle", D.idle, "var(--idle)"]];
  const whole = (list, of) => el("div", { class: "whole" }, list.filter((p) => p[1] > 0).map(([name, ns, fill]) => tips(el("i", { style: `width:${(100 * ns) / of}%;background:${fill}` }), () => [name, `${dur(ns)}, ${pct(ns, of)}`])));
  section("Where scheduler time went", control,
    el("h3", {}, "The machine's time"), whole(parts, D.capacity), key(parts.filter((p) => p[1] > 0).map(([name, ns, fill]) => [`${name} ${pct(ns, D.capacity)}`, fill])),
    D.scheduler ? [el("h3", { style: "margin-top:18px" }, `The scheduler's ${dur(D.scheduler)}`), whole(parts.slice(1, 3), D.scheduler), key(parts.slice(1, 3).filter((p) => p[1] > 0).map(([name, ns, fill]) => [`${name} ${dur(ns)}, ${pct(ns, D.scheduler)}`, fill]))] : null,
    el("div", { class: "cols", style: "margin-top:22px" }, holders.map((h) => h.box)));
}

// ---- CPUs ----------------------------------------------------------------------------------------
function cpus() {
  if (!D.duration || !D.cpus.length) return;
  const parts = (c) => [[c.busy_ns, "var(--busy)"], [c.scheduler_ns - Math.min(c.scheduler_ns, c.lock_wait_ns), "var(--sched)"], [Math.min(c.scheduler_ns, c.lock_wait_ns), "var(--lock)"], [c.idle_ns, "var(--idle)"],
    [c.offline_ns, "repeating-linear-gradient(45deg,var(--idle) 0 3px,transparent 3px 6px)"]];
  const about = (c) => [c.name, `busy ${pct(c.busy_ns, D.duration)}, scheduler ${pct(c.scheduler_ns, D.duration)}, idle ${pct(c.idle_ns, D.duration)}`, `${num(c.switches)} switches between tasks`, c.lock_wait_ns ? `${dur(c.lock_wait_ns)} waiting for locks` : "", c.offline_ns ? `offline ${dur(c.offline_ns)}` : ""].filter(Boolean);
  const legend = key([["busy", "var(--busy)"], ["scheduler", "var(--sched)"], ["lock waiting", "var(--lock)"], ["idle", "var(--idle)"]]);
  if (D.cpus.length <= 48) {
    const half = D.cpus.length > 8 ? Math.ceil(D.cpus.length / 2) : D.cpus.length;
    const list = (from, to) => bars(D.cpus.slice(from, to).map((c) => ({ name: c.name, parts: parts(c), value: pct(c.busy_ns + c.scheduler_ns, D.duration), tip: about(c) })), 1e9);
    section("CPUs", null, el("div", { class: "cols" }, list(0, half), half < D.cpus.length ? list(half, D.cpus.length) : null), legend);
    return;
  }
  const grid = el("div", { class: "heat", style: `grid-template-columns:repeat(${D.cpus.length > 1024 ? 96 : 64},1fr)` });
  const fill = (c, kind) => kind === 0 ? `color-mix(in srgb, var(--busy) ${(100 * c.busy_ns) / D.duration}%, var(--idle))` : `color-mix(in srgb, var(${kind === 1 ? "--sched" : "--lock"}) ${100 * Math.sqrt((kind === 1 ? c.scheduler_ns : c.lock_wait_ns) / peak[kind])}%, var(--idle))`;
  const peak = [1, Math.max(1, ...D.cpus.map((c) => c.scheduler_ns)), Math.max(1, ...D.cpus.map((c) => c.lock_wait_ns))];
  const paint = (kind) => grid.replaceChildren(...D.cpus.map((c) => tips(el("i", { style: "background:" + fill(c, kind) }), () => about(c))));
  paint(0);
  section("CPUs", choice(["busy", "scheduler", "lock waiting"], paint), grid, el("p", { class: "note" }, `${num(D.cpus.length)} CPUs in order of their number; fuller colour is more time. Scheduler and lock waiting are relative to the worst CPU.`));
}

// ---- tasks, swaps, messages ----------------------------------------------------------------------
function tasks() {
  if (!D.tasks.length) return;
  const filter = el("input", { type: "search", placeholder: "filter by name or group", "aria-label": "filter tasks" });
  const grouped = D.tasks.some((t) => t[2]);
  const number = (name, i, show, cls) => ({ name, get: (t) => t[3][i], show, cls });
  const columns = [{ name: "task", get: (t) => t[1], left: true }, { name: "id", get: (t) => t[0], show: num }, grouped ? { name: "group", get: (t) => t[2], left: true } : null,
    number("jobs", 0, num), number("missed", 1, num, () => "bad"), number("CPU time", 4, dur), number("waiting", 5, dur), number("response p50", 6, dur), number("p99", 7, dur), number("max", 8, dur),
    number("wakeup p50", 9, dur), number("p99", 10, dur), number("max", 11, dur), number("preempted", 2, num), number("migrated", 3, num)].filter(Boolean);
  const s = section("Tasks", filter, sortable(columns, D.tasks, 40, filter));
  s.classList.add("long");
  if (D.nr_tasks > D.tasks.length) s.append(el("p", { class: "note" }, `${num(D.tasks.length)} of ${num(D.nr_tasks)} tasks: those with missed deadlines and the longest times. tasks.csv has all.`));
}

function happenings() {
  const cols = [];
  if (D.swaps.length) cols.push(el("div", {}, el("h3", {}, "Swaps"), sortable([{ name: "from → to", get: (w) => w.from + " → " + w.to, left: true }, { name: "at", get: (w) => w.at_ns, show: (v) => dur(v) },
    { name: "pause", get: (w) => w.pause_ns, show: dur }, { name: "tasks re-presented", get: (w) => w.represented, show: num }], D.swaps, 20)));
  if (D.messages.length) cols.push(el("div", {}, el("h3", {}, "Messages"), bars([...D.messages].sort((a, b) => b.count - a.count).map((m) => ({ name: m.topic, parts: [[m.count, "var(--accent)"]], value: num(m.count) })), 24)));
  if (cols.length) section(D.swaps.length ? "Swaps and messages" : "Messages", null, el("div", { class: "cols" }, cols));
}

/** Shows what the address asks for: `#t=FROM..TO&task=N&cpu=N`, times in ns. */
function visit() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const span = /^(\d+)\.\.(\d+)$/.exec(asked.get("t") || "");
  if (!span || !jump) return;
  const [a, b] = [+span[1], +span[2]], more = Math.max(1, (b - a) * 0.2), cpu = asked.get("cpu");
  jump(Math.max(0, a - more), Math.min(D.duration, b + more), cpu === null ? null : +cpu, asked.get("task"));
}

graph();
overview();
gantt();
latencies();
schedulerTime();
cpus();
tasks();
happenings();
visit();
addEventListener("hashchange", visit);
