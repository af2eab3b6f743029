//! The first paragraph of a body.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::body::{is_bracketed, options, prose};

/// Returns the text of the first paragraph or item of a body on one line: no heading, code, table, HTML or image. Without one,
/// returns the body's first line.
pub(crate) fn leading_prose(body: &str) -> String {
    let (mut text, mut hidden) = (String::new(), 0_usize);
    let body = if is_bracketed(body) { body.trim_start().lines().next().unwrap_or_default() } else { body };
    for event in Parser::new_ext(body, options()) {
        match event {
            Event::Start(
                Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::Table(_) | Tag::HtmlBlock | Tag::Image { .. },
            ) => hidden += 1,
            Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Table | TagEnd::HtmlBlock | TagEnd::Image) => {
                hidden = hidden.saturating_sub(1);
            }
            Event::Text(part) if hidden == 0 => text.push_str(&part),
            Event::Code(part) if hidden == 0 => text.push_str(&format!("`{part}`")),
            Event::SoftBreak | Event::HardBreak if hidden == 0 => text.push(' '),
            Event::Start(Tag::List(_) | Tag::Paragraph) | Event::End(TagEnd::Paragraph | TagEnd::Item)
                if !text.trim().is_empty() =>
            {
                break;
            }
            _ => {}
        }
    }
    let text = text.trim();
    if text.is_empty() { prose(body).trim().lines().next().unwrap_or_default().to_owned() } else { text.to_owned() }
}

/// Returns a body with its description before it, unless it begins with it, or the description is cut.
pub(crate) fn described(description: &str, body: &str) -> String {
    let is_cut = description.ends_with(['…']) || description.ends_with("...");
    let is_said = is_cut || leading_prose(body).starts_with(description);
    if is_said { body.to_owned() } else { format!("{description}\n\n{body}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paragraph_is_what_is_told() {
        for before in [
            "",
            "# Broker",
            "```bash\nrun it now\n```",
            "<!-- say what it is -->",
            "| Key | Value |\n|---|---|\n| Author | Somebody |",
            "![The plan](plan.png)",
            "[![build](https://ci/x.svg)](https://ci)",
            "---",
        ] {
            let body = format!("{before}\n\nThe *broker* wants\n`TLS`. More.\n\nElse.\n");
            assert_eq!(leading_prose(&body), "The broker wants `TLS`. More.", "{before}");
        }
        let check = |body: &str, expected: &str| assert_eq!(leading_prose(body), expected, "{body}");
        check("- **It** wants TLS\n- and a key\n", "It wants TLS");
        check("1. One\n   - two\n", "One");
        check("> Keep calm.\n\nElse.\n", "Keep calm.");
        check("# Only\n", "Only");
        check("```bash\nmake\n```\n", "make");
        check("", "");
    }

    #[test]
    fn a_description_that_is_cut_is_not_put_before_a_body() {
        assert_eq!(described("It wants TLS.", "More of it.\n"), "It wants TLS.\n\nMore of it.\n");
        assert_eq!(described("It wants TLS and …", "It wants TLS and a key.\n"), "It wants TLS and a key.\n");
    }
}
