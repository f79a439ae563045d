// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! One colour per purpose, for all kinds of pictures; readable on light and dark backgrounds.

use weir_core::Class;

use crate::graph::NodeKind;

/// Word for a box's style, and its border and fill on light and on dark ground.
pub(crate) struct Style {
    pub word: &'static str,
    pub border: &'static str,
    pub light: &'static str,
    pub dark: &'static str,
}

/// All styles, for style sheets.
pub(crate) const STYLES: [Style; 8] = [
    Style { word: "entry", border: "#64748b", light: "#f1f5f9", dark: "#1e293b" },
    Style { word: "cpus", border: "#475569", light: "#e2e8f0", dark: "#334155" },
    Style { word: "filter", border: "#d97706", light: "#fef3c7", dark: "#3b2a10" },
    Style { word: "order", border: "#059669", light: "#d8f5e7", dark: "#0d3327" },
    Style { word: "distribute", border: "#2f74d0", light: "#deebfc", dark: "#142f54" },
    Style { word: "merge", border: "#8b5cf6", light: "#ede9fe", dark: "#2c2154" },
    Style { word: "annotate", border: "#c2557d", light: "#fbe6ee", dark: "#401f2e" },
    Style { word: "service", border: "#71717a", light: "#f1f1f3", dark: "#2a2a2e" },
];

/// Style of a box.
pub(crate) fn style(kind: NodeKind, class: Class) -> &'static Style {
    let index = match (kind, class) {
        (NodeKind::Entry, _) => 0,
        (NodeKind::Cpus, _) => 1,
        (NodeKind::Annotator, _) | (_, Class::Annotate) => 6,
        (_, Class::Filter) => 2,
        (_, Class::Order) => 3,
        (_, Class::Distribute) => 4,
        (_, Class::Merge) => 5,
        (_, Class::Service) => 7,
    };
    &STYLES[index]
}
