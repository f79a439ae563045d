// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Elements, requests and numbers.

type Child = Node | string | number | null | undefined | false | Child[];
type Attrs = Record<string, unknown>;

function fill(node: Element, attrs: Attrs, children: Child[]): void {
	for (const [key, value] of Object.entries(attrs)) {
		if (value === null || value === undefined || value === false) continue;
		if (key.startsWith("on") && typeof value === "function") node.addEventListener(key.slice(2), value as EventListener);
		else if (key === "value" && "value" in node) (node as HTMLInputElement).value = String(value);
		else if (key === "checked") (node as HTMLInputElement).checked = Boolean(value);
		else node.setAttribute(key, value === true ? "" : String(value));
	}
	const add = (c: Child): void => {
		if (Array.isArray(c)) c.forEach(add);
		else if (c !== null && c !== undefined && c !== false) node.append(c instanceof Node ? c : String(c));
	};
	add(children);
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attrs: Attrs = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
	const node = document.createElement(tag);
	fill(node, attrs, children);
	return node;
}

export function s(tag: string, attrs: Attrs = {}, ...children: Child[]): SVGElement {
	const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
	fill(node, attrs, children);
	return node;
}

export const token = new URLSearchParams(location.search).get("token") ?? "";

export class Wrong extends Error {
	constructor(message: string, readonly help: string[] = [], readonly status = 0) { super(message); }
}

export async function call<T>(path: string, body?: unknown): Promise<T> {
	let answer: Response;
	const headers: Record<string, string> = { "x-runweir-token": token };
	if (body !== undefined) headers["content-type"] = "application/json";
	try {
		answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
	} catch {
		lost(true);
		throw new Wrong("the studio does not answer", ["is `runweir studio` still running? Your text is still here; start it again on the same port and reload"]);
	}
	lost(false);
	if (answer.ok) return (await answer.json()) as T;
	const text = await answer.text();
	try {
		const wrong = JSON.parse(text) as { message: string; help: string[] };
		throw new Wrong(wrong.message, wrong.help, answer.status);
	} catch (e) {
		if (e instanceof Wrong) throw e;
		throw new Wrong(text.trim() || answer.statusText, [], answer.status);
	}
}

/** The server went away, or is back. */
export let lost: (gone: boolean) => void = () => {};
export const onLost = (f: (gone: boolean) => void): void => { lost = f; };

export const withToken = (path: string): string => path + (path.includes("?") ? "&" : "?") + "token=" + encodeURIComponent(token);

export const escape = (text: string): string => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);

export function ns(t: number): string {
	const of = (v: number, unit: string): string => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2)) + " " + unit;
	if (t < 1e3) return t.toFixed(0) + " ns";
	if (t < 1e6) return of(t / 1e3, "µs");
	if (t < 1e9) return of(t / 1e6, "ms");
	return of(t / 1e9, "s");
}

export function count(n: number): string {
	if (n < 1e4) return String(Math.round(n));
	if (n < 1e6) return (n / 1e3).toFixed(n < 1e5 ? 1 : 0) + "k";
	if (n < 1e9) return (n / 1e6).toFixed(n < 1e7 ? 2 : 1) + "M";
	return (n / 1e9).toFixed(1) + "G";
}

/** A canvas as sharp as the screen; the context is in CSS pixels. */
export function sharp(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
	const ratio = Math.min(2, devicePixelRatio || 1);
	const [w, t] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
	if (canvas.width !== w || canvas.height !== t) { canvas.width = w; canvas.height = t; }
	const c = canvas.getContext("2d")!;
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.clearRect(0, 0, width, height);
	return c;
}

const styles = getComputedStyle(document.documentElement);
export const css = (name: string): string => styles.getPropertyValue(name).trim();

/** Cold to hot. */
export function heat(share: number): string {
	const x = Math.max(0, Math.min(1, share));
	return `hsl(${(200 - 200 * Math.min(1, x * 1.4)).toFixed(0)} ${(55 + 35 * x).toFixed(0)}% ${(58 - 8 * x).toFixed(0)}%)`;
}

let toastTimer = 0;
export function toast(text: string, help: string[] = [], bad = true): void {
	let box = document.getElementById("toast");
	if (!box) document.body.append((box = h("div", { id: "toast", role: "status", "aria-live": "polite" })));
	box.className = bad ? "bad" : "good";
	box.replaceChildren(h("strong", {}, text), ...help.map((x) => h("span", {}, x)));
	clearTimeout(toastTimer);
	toastTimer = window.setTimeout(() => box.replaceChildren(), bad ? 9000 : 3500);
}
/** Nothing is left to be said. */
export function silence(): void {
	clearTimeout(toastTimer);
	document.getElementById("toast")?.replaceChildren();
}
export const report = (e: unknown): void => { const w = e as Wrong; toast(w.message ?? String(e), w.help ?? []); };

/** Replace what a node holds; what is null is left out. */
export function put(node: Element, ...children: (Node | string | null)[]): void { node.replaceChildren(...children.filter((c): c is Node | string => c !== null)); }

/** A sentence; names and commands stand in it between backticks. */
export const words = (text: string): (Node | string)[] => text.split(/(`[^`]+`)/).map((x) => (x.startsWith("`") ? h("code", {}, x.slice(1, -1)) : x));
