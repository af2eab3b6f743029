//! The form of a secret in a line: an assignment, a mapping, a template filled in.

use super::codes::percent;
use super::kinds::{Leak, Shape};
use super::template::{capital, fill, text};
use crate::random::Random;

impl Leak {
    /// Whether it has several lines.
    pub(crate) fn is_long(&self) -> bool {
        matches!(self.shape, Shape::Block | Shape::Document)
    }

    /// The value on one line, as in a string literal.
    pub(crate) fn one_line(&self) -> String {
        match self.shape {
            Shape::Document => self.value.lines().map(str::trim).collect::<Vec<_>>().join(" "),
            _ => self.value.replace('\n', "\\n"),
        }
    }

    /// Its name as `api_key`.
    pub(crate) fn snake(&self) -> String {
        self.name.to_lowercase().replace('-', "_")
    }

    /// Its name as `apiKey`.
    pub(crate) fn camel(&self) -> String {
        let name = self.snake();
        let mut parts = name.split('_');
        parts.next().map(str::to_owned).into_iter().chain(parts.map(capital)).collect()
    }

    /// Its name as `Api-Key`.
    pub(crate) fn header(&self) -> String {
        self.snake().split('_').map(capital).collect::<Vec<_>>().join("-")
    }

    /// Its name as `api key`.
    pub(crate) fn words(&self) -> String {
        self.snake().replace('_', " ")
    }

    /// Fills a line in, as `carriers.toml` explains it. The value comes last: nothing in it is a place.
    pub(crate) fn fill(&self, line: &str) -> String {
        let line = line.replace("{N}", &self.name).replace("{C}", &self.constant()).replace("{S}", self.service);
        let line = line.replace("{n}", &self.snake()).replace("{c}", &self.camel()).replace("{W}", &self.words());
        let line = line.replace("{H}", &self.header()).replace("{h}", &self.header().to_lowercase());
        let line = line.replace("{o}", &self.snake().replace('_', "-")).replace("{P}", &percent(&self.value));
        line.replace("{L}", &self.one_line()).replace("{V}", &self.value)
    }

    /// Its name as a constant, also where it is that of a header.
    pub(crate) fn constant(&self) -> String {
        self.name.to_uppercase().replace('-', "_")
    }
}

/// Returns whether a shell reads this as one word without quotes.
fn is_plain(value: &str) -> bool {
    !value.contains(|letter: char| {
        letter.is_ascii() && !letter.is_ascii_alphanumeric() && !"-_./+=:@,%~".contains(letter)
    })
}

/// Quotes for a shell: unquoted if possible, else in quotes that expand nothing.
pub(crate) fn shell(random: &mut Random, value: &str) -> String {
    match random.below(3) {
        0 if is_plain(value) => value.to_owned(),
        1 if !value.contains(['$', '!', '`', '"']) => format!("\"{value}\""),
        _ => format!("'{value}'"),
    }
}

/// Lines of an `.env` file; of a script where each is exported.
pub(crate) fn assignment(random: &mut Random, leak: &Leak, export: &str) -> String {
    let companion = leak.companion.as_ref().map(|(name, value)| format!("{export}{name}={value}\n"));
    let line = match leak.shape {
        Shape::Block if random.below(2) == 0 => format!("{export}{}=\"{}\"", leak.name, leak.value),
        Shape::Block => format!("{export}{}=\"{}\"", leak.name, leak.one_line()),
        Shape::Document => format!("{export}{}='{}'", leak.name, leak.one_line()),
        Shape::Header if random.below(2) == 0 => {
            format!("{export}{}_HEADER=\"{}: {}\"", leak.constant(), leak.header(), leak.value)
        }
        Shape::Header => format!("{export}{}=\"{}\"", leak.constant(), leak.value),
        _ => format!("{export}{}={}", leak.name, shell(random, &leak.value)),
    };
    companion.unwrap_or_default() + &line
}

/// Puts an indent before every line.
pub(crate) fn indented(text: &str, indent: &str) -> String {
    text.lines().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}

/// A key of a YAML mapping, with its value.
pub(crate) fn yaml(random: &mut Random, leak: &Leak) -> String {
    if leak.is_long() {
        return format!("{}: |\n{}", leak.snake(), indented(&leak.value, "  "));
    }
    if leak.shape == Shape::Header {
        return format!("{}: \"{}\"", leak.header(), leak.value);
    }
    let is_plain = is_plain(&leak.value) && !leak.value.contains([':', '%', '@', '~']);
    let value = match random.below(3) {
        0 | 1 if is_plain => leak.value.clone(),
        1 => format!("'{}'", leak.value),
        _ => format!("\"{}\"", leak.value),
    };
    let style = random.below(8);
    let line = |name: &str, value: &str| match style {
        0 => format!("- name: {name}\n  value: {value}"),
        1 => format!("{name}: {value}"),
        _ => format!("{}: {value}", name.to_lowercase()),
    };
    let companion = leak.companion.as_ref().map(|(name, value)| line(name, value) + "\n");
    companion.unwrap_or_default() + &line(&leak.name, &value)
}

/// A member of a JSON object.
pub(crate) fn json(random: &mut Random, leak: &Leak) -> String {
    if leak.shape == Shape::Document {
        return format!("\"{}\": {}", leak.camel(), leak.value);
    }
    let style = random.below(8);
    let member = |leak: &Leak, value: &str| match style {
        0 if leak.shape != Shape::Header => format!("{{\"name\": \"{}\", \"value\": \"{value}\"}}", leak.name),
        _ if leak.shape == Shape::Header => format!("\"{}\": \"{value}\"", leak.header()),
        1..=3 => format!("\"{}\": \"{value}\"", leak.camel()),
        4 => format!("\"{}\":\"{value}\"", leak.snake()),
        5 => format!("\"{}\": \"{value}\"", leak.name),
        _ => format!("\"{}\": \"{value}\"", leak.snake()),
    };
    let companion = leak.companion.as_ref().map(|(name, value)| {
        let companion = Leak { name: name.clone(), ..leak.clone() };
        member(&companion, value) + ",\n"
    });
    companion.unwrap_or_default() + &member(leak, &leak.one_line())
}

/// Says when, where and how bad, as loggers do.
pub(crate) fn log_head(random: &mut Random) -> String {
    let template = *random.pick(&[
        "«time».«dig 3»Z  «INFO|WARN|ERROR|DEBUG» «word»::«word»: ",
        "[«time»] «info|error»: ",
        "«word»-«hex 10»-«b36 5» «word»[«dig 4»]: ",
        "    at «word» (/app/src/«word».js:«dig 2»:«dig 2») ",
        "thread 'main' panicked at src/«path».rs:«dig 2»:5: ",
        "DEBUG:«word».client:",
    ]);
    fill(random, template)
}

/// Returns a hash as git shortens it.
pub(crate) fn short_hash(random: &mut Random) -> String {
    text(random, "hex", 7)
}
