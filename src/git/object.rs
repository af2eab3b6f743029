//! Names of objects, and how git makes them.

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// How many hexadecimal digits the name of an object has: of SHA-1, and of SHA-256.
const LENGTHS: [usize; 2] = [40, 64];

/// The whole name of an object: only hexadecimal digits, so that it cannot be an option, a path or a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object(String);

impl Object {
    /// Parses a name from any source: an answer of git, or a file that anyone may have written.
    pub(super) fn parse(name: &str) -> Result<Object> {
        let is_name = LENGTHS.contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_name { Ok(Object(name.to_ascii_lowercase())) } else { Err(Object::refused(name)) }
    }

    /// Returns the error for an invalid name.
    pub(super) fn refused(name: &str) -> Error {
        let start: String = name.chars().take(80).collect();
        let reason = format!("`{}` is not the name of an object: 40 or 64 hexadecimal digits", start.escape_debug());
        Error::Git { command: "rev-parse".to_owned(), reason }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The hash of a repository's object names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HashFormat {
    Sha1,
    Sha256,
}

impl HashFormat {
    /// Parses git's name of it.
    pub(super) fn parse(word: &str) -> Option<HashFormat> {
        match word {
            "sha1" => Some(HashFormat::Sha1),
            "sha256" => Some(HashFormat::Sha256),
            _ => None,
        }
    }

    /// Returns the number of digits of a name.
    pub(super) fn digits(self) -> usize {
        match self {
            HashFormat::Sha1 => LENGTHS[0],
            HashFormat::Sha256 => LENGTHS[1],
        }
    }

    /// Returns the name of a file with these bytes.
    pub(super) fn name_of(self, bytes: &[u8]) -> Object {
        let head = format!("blob {}\0", bytes.len());
        let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
        let digits = |hash: &[u8]| hash.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
        Object(match self {
            HashFormat::Sha1 => {
                let mut hash = sha1_smol::Sha1::new();
                hash.update(head.as_bytes());
                hash.update(bytes);
                digits(&hash.digest().bytes())
            }
            HashFormat::Sha256 => digits(&Sha256::new().chain_update(head).chain_update(bytes).finalize()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hexadecimal_digits_name_an_object() {
        let (sha1, sha256) = ("0123456789abcdef".repeat(4), "A".repeat(64));
        assert_eq!(Object::parse(&sha1[..40]).unwrap().as_str(), &sha1[..40]);
        assert_eq!(Object::parse(&sha256).unwrap().as_str(), "a".repeat(64));
        for bad in ["", "HEAD", "--output=/x", &sha1[..39], &sha1[..41], &format!("{}\n", &sha1[..39]), &"g".repeat(40)]
        {
            assert!(Object::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_has_the_name_that_git_gives_it() {
        // The output of `git hash-object` for `x` and a line end.
        assert_eq!(HashFormat::Sha1.name_of(b"x\n").as_str(), "587be6b4c3f93f93c489c0111bba5596147a26cb");
        let empty = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        assert_eq!(HashFormat::Sha256.name_of(b"").as_str(), empty);
    }
}
