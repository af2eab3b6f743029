//! Checksums that nobody can forge without the key: HMAC-SHA-256.
//!
//! A checksum proves that the holder of the key wrote the bytes. A reader of sealed files learns nothing about the key.
//! Everything here is pure.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The length of a checksum and of a key, in bytes.
pub(super) const SUM_BYTES: usize = 32;
/// The length of a short checksum, in bytes.
pub(crate) const SHORT_SUM: usize = 16;
/// The length of a block of SHA-256, in bytes.
const BLOCK: usize = 64;

/// A key, or a key that is derived from one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SealKey([u8; SUM_BYTES]);

/// Not the key itself, which might end up in a message.
impl fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealKey")
    }
}

impl SealKey {
    pub(super) fn new(bytes: [u8; SUM_BYTES]) -> SealKey {
        SealKey(bytes)
    }

    /// Returns the key for one purpose. It does not reveal the key that it is derived from.
    pub(super) fn derive(&self, purpose: &str, of: &[u8]) -> SealKey {
        SealKey(self.sum(&[purpose.as_bytes(), b"\0", of]))
    }

    /// Returns the checksum of the concatenated parts.
    pub(super) fn sum(&self, parts: &[&[u8]]) -> [u8; SUM_BYTES] {
        let pad = |byte: u8| {
            let mut block = [byte; BLOCK];
            block.iter_mut().zip(self.0).for_each(|(byte, key)| *byte ^= key);
            block
        };
        let inner = parts.iter().fold(Sha256::new().chain_update(pad(0x36)), Sha256::chain_update);
        Sha256::new().chain_update(pad(0x5c)).chain_update(inner.finalize()).finalize().into()
    }

    /// Returns a short checksum of the concatenated parts, for a piece of a file that is read alone.
    pub(crate) fn short_sum(&self, parts: &[&[u8]]) -> [u8; SHORT_SUM] {
        let sum = self.sum(parts);
        std::array::from_fn(|at| sum[at])
    }

    /// Returns the last line of a file with these bytes before it, with the line end that separates them.
    pub fn line(&self, bytes: &[u8]) -> Vec<u8> {
        sum_line(&self.sum(&[bytes]))
    }

    /// Returns the content of a file without its last line, if that line is the one that [`SealKey::line`] makes.
    pub(crate) fn unsealed<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (text, line) = bytes.split_at_checked(bytes.len().checked_sub(SUM_LINE)?)?;
        (line == self.line(text)).then_some(text)
    }
}

/// The length of a line with a checksum, with the line end before it, in bytes.
pub(super) const SUM_LINE: usize = 2 * SUM_BYTES + 2;

/// Returns a checksum as a line, with the line end before it.
pub(super) fn sum_line(sum: &[u8; SUM_BYTES]) -> Vec<u8> {
    format!("\n{}\n", hex_digits(sum)).into_bytes()
}

/// Returns bytes in hexadecimal digits.
pub(super) fn hex_digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_that_of_the_standard() {
        // RFC 4231, test cases 1 and 2: short keys are padded with zeros.
        let check = |short: &[u8], parts: &[&[u8]], expected: &str| {
            let mut key = [0; SUM_BYTES];
            key[..short.len()].copy_from_slice(short);
            assert_eq!(sum_line(&SealKey::new(key).sum(parts)), format!("\n{expected}\n").as_bytes());
        };
        check(&[0x0b; 20], &[b"Hi There"], "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        let parts: [&[u8]; 2] = [b"what do ya want ", b"for nothing?"];
        check(b"Jefe", &parts, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn only_the_holder_of_the_key_seals() {
        let [own, other] = [1, 2].map(|byte| SealKey::new([byte; SUM_BYTES]));
        for text in [&b""[..], b"x", b"x\n"] {
            let sealed = [text, &own.line(text)].concat();
            assert_eq!((own.unsealed(&sealed), other.unsealed(&sealed)), (Some(text), None));
            assert_eq!(own.derive("one", b"").unsealed(&sealed), None);
            let mut changed = sealed.clone();
            changed[text.len() + 1] ^= 1;
            assert_eq!((own.unsealed(&changed), own.unsealed(&sealed[1..])), (None, None));
        }
        assert_ne!(own.derive("one", b"").0, own.derive("two", b"").0);
        assert_eq!(format!("{own:?}"), "SealKey");
    }
}
