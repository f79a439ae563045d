// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What both pages use. Text always reaches the document as text nodes.

const DATA = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const SVG = "http://www.w3.org/2000/svg";
// Warm colours are left to the scheduler, locks and misses.
const PALETTE = ["#4269d0", "#2fa58c", "#8a55d7", "#7d9f35", "#c9559b", "#2f93c4", "#96705a", "#6c7a89", "#5b6ee8", "#1f8a5f", "#b07cc6", "#a3a04a"];
/** The colour of the i-th group: the palette, then hues that lie far apart, in three lightnesses that white text can be read on. */
const color = (i) => i < PALETTE.length ? PALETTE[i] : `hsl(${Math.round(60 + (i * 137.508) % 280)} ${i % 2 ? 70 : 48}% ${[34, 44, 52][i % 3]}%)`;
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

/** An element with attributes, listeners (`onclick` …) and children; strings become text nodes. */
function el(tag, attrs, ...children) {
  const node = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (typeof v === "function") node.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== null) node.setAttribute(k, v);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));
  return node;
}

function sig(x) {
  x = +x.toPrecision(12);
  const a = Math.abs(x);
  return Number.isInteger(x) && a < 1000 ? String(x) : a >= 99.95 ? x.toFixed(0) : a >= 9.995 ? x.toFixed(1) : x.toFixed(2);
}
function dur(ns) {
  if (ns === null) return "–";
  const a = Math.abs(ns);
  if (a === 0) return "0";
  if (a < 999.5) return sig(ns) + " ns";
  if (a < 999.5e3) return sig(ns / 1e3) + " µs";
  if (a < 999.5e6) return sig(ns / 1e6) + " ms";
  return sig(ns / 1e9) + " s";
}
const num = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
function pct(part, whole) {
  if (!whole) return "–";
  const x = (100 * part) / whole;
  return x === 0 ? "0 %" : x < 0.01 ? "<0.01 %" : (x < 1 ? x.toFixed(2) : x.toFixed(1)) + " %";
}
/** A position on an axis that ends at `end`, as exact as ticks `step` apart need. */
function timeLabel(ns, step, end) {
  if (ns === 0) return "0";
  const [unit, name] = end >= 1e9 ? [1e9, " s"] : end >= 1e6 ? [1e6, " ms"] : end >= 1e3 ? [1e3, " µs"] : [1, " ns"];
  return (ns / unit).toFixed(Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9))) + name;
}
/** A point in time with all its digits. */
function stamp(ns) {
  const [unit, name] = ns >= 1e9 ? [1e9, " s"] : ns >= 1e6 ? [1e6, " ms"] : ns >= 1e3 ? [1e3, " µs"] : [1, " ns"];
  return String(+(ns / unit).toFixed(9)) + name;
}
/** Step of about `count` round ticks over `span`. */
function tickStep(span, count) {
  const raw = span / count;
  const base = 10 ** Math.floor(Math.log10(raw));
  const f = raw / base;
  return Math.max(1, base * (f <= 1 ? 1 : f <= 2 ? 2 : f <= 5 ? 5 : 10));
}

// Theme: the system's, until the button says otherwise.
const redraw = [];
function setTheme(theme) {
  if (root.dataset.theme === theme) return;
  root.dataset.theme = theme;
  redraw.forEach((f) => f());
}
const systemDark = matchMedia("(prefers-color-scheme: dark)");
setTheme(systemDark.matches ? "dark" : "light");
systemDark.addEventListener("change", () => setTheme(systemDark.matches ? "dark" : "light"));
let beforePrint = "light";
addEventListener("beforeprint", () => { beforePrint = root.dataset.theme; setTheme("light"); });
addEventListener("afterprint", () => setTheme(beforePrint));
document.querySelector("header").append(
  el("div", { class: "screen" }, el("button", { title: "light or dark", onclick: () => setTheme(root.dataset.theme === "dark" ? "light" : "dark") }, "◐")));

// Tooltip: lines of text; the first is bold.
const tip = el("div", { class: "hover", role: "tooltip" });
document.body.append(tip);
function showTip(event, lines) {
  if (!lines || !lines.length) return hideTip();
  tip.replaceChildren(...lines.map((line, i) => el("div", {}, el(i ? "span" : "b", {}, line))));
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18) + "px";
}
function hideTip() { tip.style.display = "none"; }
const tips = (node, lines) => { node.addEventListener("mousemove", (e) => showTip(e, lines())); node.addEventListener("mouseleave", hideTip); return node; };

/** A section with a title, controls beside it, and content. */
function section(title, controls, ...content) {
  const s = el("section", {}, el("div", { class: "head" }, el("h2", {}, title), controls), ...content);
  document.querySelector("main").append(s);
  return s;
}
/** Buttons of which one is pressed. */
function choice(options, onpick) {
  const box = el("div", { class: "seg", role: "group" });
  options.forEach((name, i) => box.append(el("button", { "aria-pressed": i === 0, onclick: (e) => {
    for (const b of box.children) b.setAttribute("aria-pressed", b === e.target);
    onpick(i);
  } }, name)));
  return box;
}
function key(items) {
  return el("div", { class: "key" }, items.map(([name, fill]) => el("span", {}, el("i", { style: "background:" + fill }), name)));
}

/** Horizontal bars on a common scale. A row: {name, parts: [[value, fill]], value, tip}. */
function bars(rows, limit) {
  const box = el("div", { class: "bars" });
  const top = Math.max(1, ...rows.map((r) => r.parts.reduce((a, p) => a + p[0], 0)));
  for (const r of rows.slice(0, limit)) {
    const bar = el("div", { class: "bar" }, r.parts.filter((p) => p[0] > 0).map(([v, fill]) => el("i", { style: `width:${(100 * v) / top}%;background:${fill}` })));
    const cells = [el("div", { class: "name" }, r.name), bar, el("div", { class: "val" }, el("b", {}, r.value), r.extra ? " " + r.extra : null)];
    if (r.tip) cells.forEach((c) => tips(c, () => r.tip));
    box.append(...cells);
  }
  if (rows.length > limit) box.append(el("div", { class: "rest" }, `and ${num(rows.length - limit)} more, each below ${rows[limit - 1].value}`));
  return box;
}

/**
 * Distributions over a logarithmic time axis. `series`: [{name, fill, bins: [[from, count]]}].
 * Modes: 0 share of samples up to x, 1 share above x on a logarithmic scale (the tail), 2 histogram.
 */
function distribution(series) {
  const box = el("div", {});
  let mode = 0;
  const off = new Set();
  const upper = (from) => from < 8 ? from + 1 : from + 2 ** (Math.floor(Math.log2(from)) - 3);
  const draw = () => {
    const shown = series.filter((s, i) => !off.has(i) && s.bins.length);
    const w = Math.max(300, box.clientWidth || 600), h = 270, left = 46, right = 14, top = 10, bottom = 30;
    const svg = el("svg:svg", { class: "chart", viewBox: `0 0 ${w} ${h}`, height: h });
    const every = shown.flatMap((s) => s.bins);
    if (!every.length) { box.replaceChildren(svg); return; }
    const positive = every.filter((b) => b[0] > 0);
    let lo = positive.length ? Math.min(...positive.map((b) => b[0])) : 1, hi = Math.max(2, ...every.map((b) => upper(b[0])));
    if (hi / lo < 10) { lo /= 2; hi *= 2; }
    const lx = Math.log10(lo), span = Math.log10(hi) - lx;
    const X = (v) => left + ((Math.max(lx, v > 0 ? Math.log10(v) : lx) - lx) / span) * (w - left - right);
    const Y = (f) => h - bottom - f * (h - top - bottom);
    const floor = 1e-4;
    const tail = (f) => Y(f <= floor ? 0 : 1 - Math.log10(f) / Math.log10(floor));
    const line = (x1, y1, x2, y2, cls) => svg.append(el("svg:line", { x1, y1, x2, y2, class: cls }));
    const text = (x, y, anchor, t) => svg.append(el("svg:text", { x, y, "text-anchor": anchor }, t));
    const decades = span > 7 ? 2 : 1;
    for (let d = Math.floor(lx); d <= lx + span; d += decades) for (const m of span < 2.2 ? [1, 2, 5] : [1]) {
      const v = m * 10 ** d;
      if (v < lo || v > hi) continue;
      line(X(v), top, X(v), h - bottom, "grid");
      text(X(v), h - bottom + 18, "middle", dur(v));
    }
    const sums = shown.map((s) => s.bins.reduce((a, b) => a + b[1], 0));
    let peak = 0;
    if (mode === 2) shown.forEach((s, i) => s.bins.forEach((b) => { peak = Math.max(peak, b[1] / sums[i]); }));
    const ticks = mode === 1 ? [1, 0.1, 0.01, 0.001] : mode === 2 ? [0.25, 0.5, 0.75, 1].map((f) => f * peak) : [0, 0.25, 0.5, 0.75, 1];
    const place = (f) => mode === 1 ? tail(f) : mode === 2 ? Y(f / peak) : Y(f);
    for (const f of ticks) { line(left, place(f), w - right, place(f), "grid"); text(left - 7, place(f) + 4, "end", +(100 * f).toPrecision(2) + " %"); }
    line(left, h - bottom, w - right, h - bottom, "axis");
    shown.forEach((s, i) => {
      let below = 0, path = "";
      if (mode === 2) {
        path = `M${X(s.bins[0][0])},${Y(0)}`;
        let last = null;
        for (const [from, n] of s.bins) {
          if (last !== null && from > last) path += `V${Y(0)}H${X(from)}`;
          path += `V${place(n / sums[i])}H${X(upper(from))}`;
          last = upper(from);
        }
        path += `V${Y(0)}`;
      } else {
        path = `M${left},${place(mode === 1 ? 1 : 0)}`;
        for (const [from, n] of s.bins) {
          const x0 = X(from);
          path += `L${x0},${place(mode === 1 ? 1 - below / sums[i] : below / sums[i])}`;
          below += n;
          path += `L${X(upper(from))},${place(mode === 1 ? 1 - below / sums[i] : below / sums[i])}`;
        }
        path += mode === 0 ? `L${w - right},${place(1)}` : "";
      }
      svg.append(el("svg:path", { d: path, fill: mode === 2 ? s.fill : "none", "fill-opacity": 0.16, stroke: s.fill, "stroke-width": 1.8, "stroke-linejoin": "round" }));
    });
    const cross = el("svg:line", { y1: top, y2: h - bottom, stroke: css("--faint"), "stroke-dasharray": "3 3", visibility: "hidden" });
    svg.append(cross);
    svg.addEventListener("mousemove", (e) => {
      const rect = svg.getBoundingClientRect();
      const px = ((e.clientX - rect.left) / rect.width) * w;
      if (px < left || px > w - right) { cross.setAttribute("visibility", "hidden"); return hideTip(); }
      const v = 10 ** (lx + ((px - left) / (w - left - right)) * span);
      cross.setAttribute("x1", px); cross.setAttribute("x2", px); cross.setAttribute("visibility", "visible");
      const rows = shown.map((s, i) => {
        let below = 0;
        for (const [from, n] of s.bins) below += v >= upper(from) ? n : v > from ? (n * (v - from)) / (upper(from) - from) : 0;
        return `${s.name}: ${pct(below, sums[i])} up to here, ${num(Math.round(sums[i] - below))} above`;
      });
      showTip(e, [dur(v), ...rows.slice(0, 14)]);
    });
    svg.addEventListener("mouseleave", () => { cross.setAttribute("visibility", "hidden"); hideTip(); });
    const legend = el("div", { class: "key" }, series.map((s, i) => s.bins.length ? el("button", { "aria-pressed": !off.has(i), title: "show or hide", onclick: () => { off.has(i) ? off.delete(i) : off.add(i); draw(); } },
      el("i", { style: "background:" + s.fill }), s.name) : null));
    box.replaceChildren(svg, series.length > 1 ? legend : "");
  };
  redraw.push(draw);
  new ResizeObserver(draw).observe(box);
  return { box, setMode: (m) => { mode = m; draw(); }, setSeries: (s) => { series = s; off.clear(); draw(); } };
}

/**
 * A table that sorts by its headings. Columns: {name, get, show, left, cls, initial}; `get` gives what
 * is sorted by. Shows `page` rows, more on demand, and those that match the filter only.
 */
function sortable(columns, rows, page, filter) {
  let by = -1, down = true, shown = page;
  const body = el("tbody", {});
  const heads = columns.map((c, i) => el("th", { "data-sort": i, class: c.left ? "left" : undefined, tabindex: 0, scope: "col",
    onclick: () => sort(i), onkeydown: (e) => { if (e.key === "Enter") sort(i); } }, c.name));
  const more = el("button", { onclick: () => { shown += page * 4; draw(); } });
  const box = el("div", {}, el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads)), body)), el("p", { class: "note screen", hidden: "" }, more));
  function sort(i) {
    down = by === i ? !down : !columns[i].left;
    by = i;
    heads.forEach((h, j) => j === i ? h.setAttribute("aria-sort", down ? "descending" : "ascending") : h.removeAttribute("aria-sort"));
    draw();
  }
  function draw() {
    const word = filter ? filter.value.toLowerCase() : "";
    let list = word ? rows.filter((r) => columns.some((c) => c.left && String(c.get(r)).toLowerCase().includes(word))) : rows;
    if (by >= 0) {
      const get = columns[by].get, sign = down ? -1 : 1;
      list = [...list].sort((a, b) => { const x = get(a), y = get(b); return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y); });
    }
    body.replaceChildren(...list.slice(0, shown).map((r) => el("tr", {}, columns.map((c) => {
      const v = c.get(r);
      return el("td", { class: c.left ? "left" : v === 0 ? "zero" : c.cls ? c.cls(r) : undefined, title: c.left ? v : undefined }, c.show ? c.show(v, r) : String(v));
    }))));
    more.textContent = `show more (${num(list.length - shown)} left)`;
    more.parentNode.hidden = list.length <= shown;
  }
  if (filter) filter.addEventListener("input", () => { shown = page; draw(); });
  const start = columns.findIndex((c) => c.initial);
  start >= 0 ? sort(start) : draw();
  return box;
}
