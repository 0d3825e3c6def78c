//! The files of the page, built from `web/` and kept here, so that cargo alone suffices.

/// A file of the page. It has no data, so that a browser can load it before the page's script has the token.
pub(crate) struct PageFile {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) text: &'static str,
}

pub(crate) const FILES: [PageFile; 4] = [
    PageFile { path: "/", media_type: "text/html; charset=utf-8", text: include_str!("../page/index.html") },
    PageFile { path: "/app.js", media_type: "text/javascript; charset=utf-8", text: include_str!("../page/app.js") },
    PageFile { path: "/app.css", media_type: "text/css; charset=utf-8", text: include_str!("../page/app.css") },
    PageFile { path: "/icon.svg", media_type: "image/svg+xml", text: include_str!("../page/icon.svg") },
];
