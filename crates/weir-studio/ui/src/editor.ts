// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The text: CodeMirror with the language's words, findings at their place, one history for both faces.
import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, redo, undo } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Component, Finding } from "./types";

const WORDS = new Set("all annotate cpu cpus each entry false in include leave out param true topology package claim needs from when else and or part of core llc node except native".split(" "));

function language(components: Map<string, Component>): StreamLanguage<{ block: boolean }> {
	return StreamLanguage.define<{ block: boolean }>({
		startState: () => ({ block: false }),
		token(stream, state) {
			if (state.block) { state.block = !stream.match(/^.*?\*\//) ; if (state.block) stream.skipToEnd(); return "comment"; }
			if (stream.eatSpace()) return null;
			if (stream.match("//")) { stream.skipToEnd(); return "comment"; }
			if (stream.match("/*")) { state.block = true; return "comment"; }
			if (stream.match(/^"[^"]*"?/)) return "string";
			if (stream.match(/^(->|~>)/)) return "operator";
			if (stream.match(/^\d[\d_]*(\.\d+)?[a-zA-Z%]*/)) return "number";
			const word = stream.match(/^[A-Za-z_]\w*/) as RegExpMatchArray | null;
			if (word) {
				if (WORDS.has(word[0])) return "keyword";
				if (components.has(word[0])) return "typeName";
				if (stream.match(/^\s*=(?!=)/, false)) return "propertyName";
				return "variableName";
			}
			stream.next();
			return "punctuation";
		},
		languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
	});
}

const colours = HighlightStyle.define([
	{ tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
	{ tag: tags.keyword, color: "var(--word)", fontWeight: "600" },
	{ tag: tags.typeName, color: "var(--type)" },
	{ tag: tags.propertyName, color: "var(--prop)" },
	{ tag: tags.number, color: "var(--number)" },
	{ tag: tags.string, color: "var(--number)" },
	{ tag: tags.operator, color: "var(--accent)", fontWeight: "700" },
]);

export interface Editor {
	view: EditorView;
	text(): string;
	/** Another document: the history starts over. */
	load(text: string): void;
	apply(changes: { from: number; to: number; insert: string }[]): void;
	findings(list: Finding[]): void;
	reveal(from: number, to: number, focus?: boolean): void;
	undo(): void;
	redo(): void;
}

export function makeEditor(parent: HTMLElement, all: Component[], changed: (text: string) => void, moved: (at: number) => void): Editor {
	const components = new Map(all.map((c) => [c.name, c]));
	const complete = (context: CompletionContext): CompletionResult | null => {
		const word = context.matchBefore(/\w+/);
		if (!word && !context.explicit) return null;
		const before = context.state.sliceDoc(Math.max(0, context.pos - 200), word?.from ?? context.pos);
		const inside = /(\w+)\s*\(([^()]*)$/.exec(before);
		if (inside) {
			const c = components.get(inside[1]);
			return c ? { from: word?.from ?? context.pos, options: c.shown.map((p) => ({ label: p.name, type: "property", detail: p.default, info: p.help, apply: `${p.name} = ${p.default}` })) } : null;
		}
		return {
			from: word?.from ?? context.pos,
			options: [...all.map((c) => ({ label: c.name, type: "class", detail: c.class, info: c.summary })), ...[...WORDS].map((label) => ({ label, type: "keyword" }))],
		};
	};
	const state = (doc: string): EditorState => EditorState.create({
		doc,
		extensions: [
			lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), lintGutter(), EditorView.lineWrapping,
			language(components), syntaxHighlighting(colours), autocompletion({ override: [complete] }),
			// Tab leaves the text: a keyboard is enough to get around.
			keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
			EditorView.contentAttributes.of({ "aria-label": "text of the topology", spellcheck: "false" }),
			EditorView.updateListener.of((u) => {
				if (u.docChanged) changed(u.state.doc.toString());
				else if (u.selectionSet && u.view.hasFocus) moved(u.state.selection.main.head);
			}),
		],
	});
	const view = new EditorView({ parent, state: state("") });
	return {
		view,
		text: () => view.state.doc.toString(),
		load(text) { view.setState(state(text)); changed(text); },
		apply(changes) { view.dispatch({ changes, userEvent: "input.graph" }); },
		findings(list) {
			const end = view.state.doc.length;
			const diagnostics = list.filter((f) => f.labels.length && !f.file).map((f) => ({
				from: Math.min(f.labels[0][0], end), to: Math.min(Math.max(f.labels[0][1], f.labels[0][0]), end),
				severity: f.error ? ("error" as const) : ("warning" as const), message: f.message + (f.help ? "\n" + f.help : ""), source: f.code,
			}));
			view.dispatch(setDiagnostics(view.state, diagnostics.sort((a, b) => a.from - b.from)));
		},
		reveal(from, to, focus = false) {
			const end = view.state.doc.length;
			view.dispatch({ selection: { anchor: Math.min(from, end), head: Math.min(to, end) }, effects: EditorView.scrollIntoView(Math.min(from, end), { y: "center" }) });
			if (focus) view.focus();
		},
		undo() { undo(view); },
		redo() { redo(view); },
	};
}
