//! Enums whose variants are words: in settings, options, files and answers.

/// Defines an enum with one word for each variant. The words have one place, so their spellings cannot differ.
///
/// It gets `ALL` and `WORDS`, in the order of its documentation, `as_str`, `parse`, `Display`, `FromStr`, whose error names the words,
/// and serde's traits.
macro_rules! choice {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident {
        $($(#[$of_variant:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        $visibility enum $name {
            $($(#[$of_variant])* #[serde(rename = $word)] $variant,)+
        }

        #[allow(dead_code, reason = "not every list of words needs all of these")]
        impl $name {
            /// Every one, in the order in which they are documented.
            $visibility const ALL: &[$name] = &[$($name::$variant),+];

            /// The words of the variants, in the same order.
            $visibility const WORDS: &[&str] = &[$($word),+];

            /// Returns the word of the variant.
            $visibility fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// Returns the variant of the word.
            $visibility fn parse(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<$name, String> {
                $name::parse(word).ok_or_else(|| format!("not one of {}", $name::WORDS.join(", ")))
            }
        }
    };
}
pub(crate) use choice;

#[cfg(test)]
mod tests {
    choice! {
        enum Door {
            Open = "open",
            HalfOpen = "half-open",
        }
    }

    #[test]
    fn words_stand_for_variants_in_every_form() {
        for (door, word) in [(Door::Open, "open"), (Door::HalfOpen, "half-open")] {
            assert_eq!((door.as_str(), door.to_string().as_str()), (word, word));
            assert_eq!((Door::parse(word), word.parse()), (Some(door), Ok(door)));
            assert_eq!(serde_json::to_value(door).unwrap(), word);
            assert_eq!(serde_json::from_value::<Door>(word.into()).unwrap(), door);
        }
        assert_eq!(Door::ALL, [Door::Open, Door::HalfOpen]);
        assert_eq!("shut".parse::<Door>().unwrap_err(), "not one of open, half-open");
    }
}
