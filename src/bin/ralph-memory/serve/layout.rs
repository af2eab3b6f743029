//! The frame of every page: head, navigation, and the last step of making it safe.

use maud::{DOCTYPE, Markup, html};
use ralph_memory::text::for_terminal;

use super::html::HtmlPage;
use super::links::PageLinks;

/// The parts of the navigation, with the names of their pages.
const PARTS: [(&str, &str); 7] = [
    ("", "Now"),
    ("features", "Features"),
    ("timeline", "Timeline"),
    ("entries", "Entries"),
    ("search", "Search"),
    ("context", "Context"),
    ("health", "Health"),
];

/// What a file may load that is opened without a server, which could send this as a header.
const EXPORTED_POLICY: &str = "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src 'self' file:; base-uri 'none'; form-action 'none'";

/// Returns the page as a document. Control characters and characters that nobody sees are visible in it: no markup of ours has any.
pub(super) fn document(page: &HtmlPage, links: PageLinks<'_>, project: &str, generation: Option<u64>) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            (head(page, links, project))
            body data-live=[generation.filter(|_| page.is_live)] {
                a.skip href="#main" { "Skip to content" }
                header.top {
                    a.brand href=(links.page("")) {
                        img src=(links.asset("icon.svg")) alt="" width="20" height="20";
                        span { bdi { (project) } }
                    }
                    (navigation(page.part, links))
                    @if !links.is_exported() { (search_box()) }
                }
                main id="main" tabindex="-1" {
                    @if page.is_live && generation.is_some() { p.note id="offline" role="status" hidden {} }
                    h1 dir="auto" { (page.title) }
                    div id="content" { (page.main) }
                }
                footer {
                    p { "ralph-memory " (env!("CARGO_PKG_VERSION")) span.keys { " · press " kbd { "?" } " for keys" } }
                }
                @if !links.is_exported() { p.sr id="announce" aria-live="polite" role="status" {} }
                (keys())
            }
        }
    };
    for_terminal(&document.into_string())
}

fn head(page: &HtmlPage, links: PageLinks<'_>, project: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            @if links.is_exported() { meta http-equiv="Content-Security-Policy" content=(EXPORTED_POLICY); }
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            title { (page.title) " · " (project) }
            link rel="icon" type="image/svg+xml" href=(links.asset("icon.svg"));
            link rel="stylesheet" href=(links.asset("style.css"));
            script src=(links.asset("page.js")) defer {}
        }
    }
}

fn navigation(part: &str, links: PageLinks<'_>) -> Markup {
    html! {
        nav.main aria-label="Main" {
            ul {
                @for (name, label) in PARTS {
                    // Without a server, nothing can be asked: the page of the search lists the entries.
                    @if !(links.is_exported() && name == "entries") {
                        li { a href=(links.page(name)) aria-current=[(name == part).then_some("page")] { (label) } }
                    }
                }
            }
        }
    }
}

fn search_box() -> Markup {
    html! {
        form.quick role="search" action="search" method="get" aria-label="Search everywhere" {
            label.sr for="quick" { "Search the memory" }
            input id="quick" type="search" name="q" placeholder="Search" autocomplete="off" aria-keyshortcuts="/";
        }
    }
}

/// The help for the keyboard, which the script shows.
fn keys() -> Markup {
    let rows = [
        ("/", "Search"),
        ("j", "Next row"),
        ("k", "Previous row"),
        ("Enter", "Open the row"),
        ("?", "This help"),
        ("Esc", "Close"),
    ];
    html! {
        dialog id="keys" aria-labelledby="keys-title" {
            h2 id="keys-title" { "Keys" }
            dl { @for (key, what) in rows { div { dt { kbd { (key) } } dd { (what) } } } }
            form method="dialog" { button { "Close" } }
        }
    }
}
