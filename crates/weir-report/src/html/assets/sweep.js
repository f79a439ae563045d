// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The table of a sweep's grid points.

const show = (v) => (Math.abs(v) >= 1e5 ? num(Math.round(v)) : sig(v));
const filter = el("input", { type: "search", placeholder: "filter", "aria-label": "filter the table" });
const words = DATA.axes.map((name, i) => ({ name, left: true, get: (r) => r.values[i] }));
const ratio = { name: "no miss", get: (r) => r.success[0], show: (v, r) => `${sig(v)} % (${sig(r.success[1])} to ${sig(r.success[2])})` };
const means = DATA.columns.map((name, i) => ({ name: name.replace(/_/g, " "), get: (r) => r.means[i], show }));
section("All grid points", filter, sortable([...words, ratio, ...means], DATA.points, 100, filter));
