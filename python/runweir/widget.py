# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A topology as a picture that can be moved, zoomed and clicked (with anywidget), or looked at (without)."""

from __future__ import annotations

from typing import Any

from .api import TopologyLike, picture

_MODULE = """
function render({ model, el }) {
  const frame = document.createElement("div");
  frame.tabIndex = 0;
  frame.setAttribute("role", "application");
  frame.setAttribute("aria-label", "topology; plus and minus zoom, arrows move");
  frame.style.cssText = "overflow:hidden;border:1px solid #8884;border-radius:6px;max-height:480px;touch-action:none";
  el.append(frame);
  let x = 0, y = 0, scale = 1, svg = null;
  const place = () => { if (svg) svg.style.transform = `translate(${x}px,${y}px) scale(${scale})`; };
  const zoom = (f) => { scale = Math.min(20, Math.max(0.1, scale * f)); place(); };
  // A box may stand for several instances: the queues of all CPUs.
  const named = (n) => n.dataset.instance.split(" ").map((i) => model.get("names")[i]);
  const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
  const mark = () => {
    const now = model.get("selected");
    for (const n of frame.querySelectorAll("[data-instance]")) n.style.opacity = !now.length || named(n).some((x) => now.includes(x)) ? 1 : 0.4;
  };
  const show = () => {
    const doc = new DOMParser().parseFromString(model.get("svg"), "image/svg+xml");
    for (const bad of doc.querySelectorAll("script, foreignObject")) bad.remove();
    svg = document.importNode(doc.documentElement, true);
    svg.style.transformOrigin = "0 0";
    frame.replaceChildren(svg);
    for (const n of svg.querySelectorAll("[data-instance]")) {
      n.style.cursor = "pointer";
      n.addEventListener("click", () => {
        const names = named(n);
        model.set("selected", same(names, model.get("selected")) ? [] : names);
        model.save_changes();
      });
    }
    mark();
    place();
  };
  frame.addEventListener("wheel", (e) => { e.preventDefault(); zoom(e.deltaY < 0 ? 1.1 : 1 / 1.1); }, { passive: false });
  let from = null;
  frame.addEventListener("pointerdown", (e) => { from = [e.clientX - x, e.clientY - y]; });
  frame.addEventListener("pointermove", (e) => { if (from && e.buttons) { x = e.clientX - from[0]; y = e.clientY - from[1]; place(); } });
  frame.addEventListener("pointerup", () => { from = null; });
  frame.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: [20, 0], ArrowRight: [-20, 0], ArrowUp: [0, 20], ArrowDown: [0, -20] }[e.key];
    if (step) { x += step[0]; y += step[1]; place(); e.preventDefault(); }
    if (e.key === "+") zoom(1.1);
    if (e.key === "-") zoom(1 / 1.1);
  });
  model.on("change:svg", show);
  model.on("change:selected", mark);
  show();
}
export default { render };
"""


def Graph(topology: TopologyLike, machine: str | None = None, *, set: Any = None) -> Any:
    """A topology as a picture. With the extra ``widget`` it can be zoomed and moved (mouse, or keys + - and arrows), and the
    trait ``selected`` has the names of the instances whose box was clicked; without it, the picture stands still."""
    svg, names = picture(topology, machine, set)
    try:
        import anywidget
        import traitlets
    except ImportError:
        return Picture(svg)
    traits = {
        "__doc__": Graph.__doc__,
        "_esm": _MODULE,
        "svg": traitlets.Unicode("").tag(sync=True),
        "names": traitlets.List(traitlets.Unicode()).tag(sync=True),
        "selected": traitlets.List(traitlets.Unicode()).tag(sync=True),
    }
    return type("GraphWidget", (anywidget.AnyWidget,), traits)(svg=svg, names=names)


class Picture:
    """An SVG that notebooks show."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg
