// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The page: one document with its style and its script, made by `crates/weir-studio/ui` and checked in.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use weir_text::packed;

use crate::Shared;

static SCRIPT: LazyLock<Vec<u8>> =
    LazyLock::new(|| packed::unpack(include_bytes!(concat!(env!("OUT_DIR"), "/studio.js.z"))));
const STYLE: &str = include_str!("../ui/dist/studio.css");
const ICON: &str = include_str!("../ui/src/icon.svg");

/// Nothing from elsewhere, no script but ours, in no other page's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(index))
        .route("/studio.js", get(|| async { typed("text/javascript; charset=utf-8", SCRIPT.as_slice()) }))
        .route("/studio.css", get(|| async { typed("text/css; charset=utf-8", STYLE) }))
        .route("/icon.svg", get(|| async { typed("image/svg+xml", ICON) }))
}

fn typed(kind: &'static str, text: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, kind)], text).into_response()
}

async fn index(uri: axum::http::Uri) -> Response {
    // The guard has seen it: it is ours, hexadecimal.
    let token =
        uri.query().and_then(|q| q.split('&').find_map(|p| p.strip_prefix("token="))).unwrap_or_default();
    let token: String = token.chars().filter(char::is_ascii_hexdigit).collect();
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Runweir studio</title>\n\
         <link rel=\"icon\" href=\"/icon.svg?token={token}\">\n\
         <link rel=\"stylesheet\" href=\"/studio.css?token={token}\">\n</head>\n<body>\n\
         <noscript>The studio needs JavaScript; the command line does all of it without.</noscript>\n\
         <div id=\"studio\"></div>\n<script src=\"/studio.js?token={token}\"></script>\n</body>\n</html>\n"
    );
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, POLICY)];
    (headers, page).into_response()
}
