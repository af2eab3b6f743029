//! The tables of settings in the book are generated from the table of settings, so none is missing.

use std::fmt::Write as _;

use super::super::all;

/// The page, relative to the root of the repository; the tables are between two comments.
const PAGE: &str = "docs/src/reference/settings.md";
const BEGIN: &str = "<!-- settings: begin -->\n";
const END: &str = "<!-- settings: end -->\n";

fn tables() -> String {
    let mut text = String::new();
    let mut table = "";
    for setting in all() {
        let own_table = setting.key.split('.').next().unwrap();
        if own_table != table {
            let _ = write!(text, "\n## {own_table}\n\n| key | default | meaning |\n|---|---|---|\n");
            table = own_table;
        }
        let own = if setting.is_users_own() { " **Own only.**" } else { "" };
        let default = setting.default_text();
        let default = if ["\"\"", "[]"].contains(&default.as_str()) { String::new() } else { format!("`{default}`") };
        let mut help = setting.help.to_owned();
        help[..1].make_ascii_uppercase();
        let _ = writeln!(text, "| `{}` | {default} | {help}.{own} |", setting.key);
    }
    text.push('\n');
    text
}

#[test]
fn the_reference_lists_every_setting() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", tables())).unwrap();
        return;
    }
    assert!(written == tables(), "{PAGE} is out of date: run `UPDATE_DOCS=1 cargo test --lib reference`");
}
