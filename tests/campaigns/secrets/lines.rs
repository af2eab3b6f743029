//! The form of a secret in a line of each language: an assignment, a mapping, a string.

use super::kinds::{Leak, Shape};
use super::template::{capital, fill, text, word};
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

/// A line or two of Rust, Python, JavaScript or Go.
pub(crate) fn source(random: &mut Random, leak: &Leak) -> String {
    let (snake, camel, constant) = (leak.snake(), leak.camel(), leak.constant());
    let value = &leak.value;
    match leak.shape {
        Shape::Block => match random.below(4) {
            0 => format!("{constant} = \"\"\"{value}\n\"\"\""),
            1 => format!("const {camel} = `{value}`;"),
            2 => format!("const {constant}: &str = \"{}\";", leak.one_line()),
            _ => format!("let {snake} = r\"{value}\n\";"),
        },
        Shape::Document => match random.below(2) {
            0 => format!("{constant} = json.loads(r'''{value}''')"),
            _ => format!("const {camel} = {value};"),
        },
        Shape::Header => {
            let name = leak.header();
            match random.below(4) {
                0 => format!("    let request = request.header(\"{name}\", \"{value}\");"),
                1 => format!("headers = {{\"{name}\": \"{value}\", \"Accept\": \"application/json\"}}"),
                2 => format!("const response = await fetch(url, {{ headers: {{ '{name}': '{value}' }} }});"),
                _ => format!("req.Header.Set(\"{name}\", \"{value}\")"),
            }
        }
        Shape::Token | Shape::Url if random.below(3) == 0 => {
            let module = word(random);
            match random.below(3) {
                0 => format!("    let client = {}Client::new(\"{value}\");", capital(module)),
                1 => format!("client = {module}.connect(\"{value}\", timeout=30)"),
                _ => format!("const client = new {}('{value}', {{ retries: 3 }});", capital(module)),
            }
        }
        _ => {
            let companion = leak.companion.as_ref().map(|(name, value)| format!("{name} = \"{value}\"\n"));
            if let Some(companion) = companion {
                return format!("{companion}{constant} = \"{value}\"");
            }
            match random.below(9) {
                0 => format!("const {constant}: &str = \"{value}\";"),
                1 => format!("    let {snake} = \"{value}\".to_string();"),
                2 => format!("{constant} = '{value}'"),
                3 => format!("    {snake}=\"{value}\","),
                4 => format!("os.environ[\"{constant}\"] = \"{value}\""),
                5 => format!("const {camel} = '{value}';"),
                6 => format!("  {camel}: '{value}',"),
                7 => format!("{camel} := \"{value}\""),
                _ => format!("    {snake}: \"{value}\".into(),"),
            }
        }
    }
}

/// The evidence for the value in a log: its name and itself.
pub(crate) fn logged(random: &mut Random, leak: &Leak) -> String {
    let (value, snake) = (leak.one_line(), leak.snake());
    match leak.shape {
        Shape::Header => match random.below(3) {
            0 => format!("> {}: {value}", leak.header()),
            1 => format!("headers={{\"{}\": \"{value}\"}}", leak.header().to_lowercase()),
            _ => format!("request failed: 401, sent {}: {value}", leak.header()),
        },
        Shape::Url => match random.below(3) {
            0 => format!("could not connect to {value}: timed out"),
            1 => format!("pool error url={value} attempt=3"),
            _ => format!("Error: connect ECONNREFUSED at Pool.open ({value})"),
        },
        Shape::Token if random.below(2) == 0 => match random.below(3) {
            0 => format!("401 Unauthorized: token {value} lacks scope write"),
            1 => format!("sending authorization: token {value}"),
            _ => format!("invalid credentials [{value}] for {}", leak.service),
        },
        Shape::Document => format!("loaded credentials {value}"),
        _ => match random.below(5) {
            0 => format!("config: Config {{ {snake}: \"{value}\", timeout: 30s }}"),
            1 => format!("env {}={value}", leak.name),
            2 => format!("{{\"{}\":\"{value}\",\"retries\":3}}", leak.camel()),
            3 => format!("starting with --{}={value}", snake.replace('_', "-")),
            _ => format!("login rejected ({snake}={value})"),
        },
    }
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
