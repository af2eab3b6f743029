//! The frame of every page: head, navigation, and the last step of making it safe.

use maud::{DOCTYPE, Markup, html};
use ralph_memory::text::for_terminal;

use super::html::HtmlPage;
use super::links::with_query;
use super::pages::SEARCH;

/// The product's name, which every page bears.
const PRODUCT: &str = env!("CARGO_PKG_NAME");
/// The parts of the navigation, with the names of their pages. The search has its field on every page.
const PARTS: [(&str, &str); 6] = [
    ("", "Now"),
    ("features", "Features"),
    ("timeline", "Timeline"),
    ("entries", "Entries"),
    ("context", "Context"),
    ("health", "Health"),
];

/// Returns the page as a document. Control characters and characters that nobody sees are visible in it: no markup of ours has any.
pub(super) fn document(page: &HtmlPage, project: &str, generation: u64) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            (head(page, project))
            body data-live=[page.is_live.then_some(generation)] {
                a.skip href="#main" { "Skip to content" }
                header.top {
                    a.brand href=("./") {
                        img src=("icon.svg") alt="" width="20" height="20";
                        span { span.product { (PRODUCT) } " " bdi { (project) } }
                    }
                    (navigation(page.part))
                    @if page.part != SEARCH { (search_box()) }
                }
                main id="main" tabindex="-1" {
                    @if page.is_live { p.note id="offline" role="status" hidden {} }
                    (trail(page))
                    h1 dir="auto" { (page.title) }
                    div id="content" { (page.main) }
                }
                footer {
                    p { (PRODUCT) " " (env!("CARGO_PKG_VERSION")) span.keys { " · press " kbd { "?" } " for keys" } }
                }
                p.sr id="announce" aria-live="polite" role="status" {}
                (keys())
            }
        }
    };
    for_terminal(&document.into_string())
}

fn head(page: &HtmlPage, project: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            title { (page.title) " · " (project) " · " (PRODUCT) }
            link rel="icon" type="image/svg+xml" href=("icon.svg");
            link rel="stylesheet" href=("style.css");
            script src=("page.js") defer {}
        }
    }
}

fn navigation(part: &str) -> Markup {
    html! {
        nav.main aria-label="Main" {
            ul {
                @for (name, label) in PARTS {
                    li { a href=(with_query(name, [])) aria-current=[(name == part).then_some("page")] { (label) } }
                }
            }
        }
    }
}

/// Returns the way from the first page of a part to a page below it.
fn trail(page: &HtmlPage) -> Markup {
    let part = PARTS.iter().find(|(name, _)| *name == page.part);
    html! {
        @if let Some(trail) = &page.trail {
            nav.trail aria-label="Where you are" { ol {
                @if let Some((name, label)) = part { li { a href=(with_query(name, [])) { (label) } } }
                @for step in trail { li { (step) } }
            } }
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
