// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Self-contained HTML: a report of one run, and a comparison of several.
//!
//! A page is one file without any reference to the network: style, script and data are inside. What
//! must be read without a script (title, headline numbers) is plain HTML; charts and tables are drawn
//! by the script from a JSON element. Names reach the page either escaped or as JSON strings that the
//! script inserts as text, never as markup.

mod compare;
mod data;
mod page;
mod run;
mod sweep;

pub use compare::{CompareExtras, html_compare};
pub use data::timeline;
pub(crate) use page::escape;
pub use run::{HtmlExtras, guest_page, html};
