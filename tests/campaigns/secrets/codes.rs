//! The codes and checksums that tokens are made with, as far as they are public.

/// Returns base64 of these bytes; for URLs without `=` and with the other two characters.
pub(crate) fn base64(bytes: &[u8], is_for_urls: bool) -> String {
    let last = if is_for_urls { ['-', '_'] } else { ['+', '/'] };
    let all: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(last).collect();
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let padded = [three[0], *three.get(1).unwrap_or(&0), *three.get(2).unwrap_or(&0)];
        let bits = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        for at in 0..=three.len() {
            text.push(all[(bits >> (18 - 6 * at)) as usize & 63]);
        }
        if !is_for_urls {
            text.extend(std::iter::repeat_n('=', 3 - three.len()));
        }
    }
    text
}

/// Returns the CRC-32 that zip and git hosts use.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    let add = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !bytes.iter().fold(!0, add)
}

/// Returns six digits to the base of 62, as in the tokens of git hosts and npm.
pub(crate) fn base62(mut number: u32) -> String {
    let all: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
    let mut digits = ['0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = all[(number % 62) as usize];
        number /= 62;
    }
    digits.iter().collect()
}

/// Returns bech32 of these bytes under a name (BIP 173), in capitals, as age writes its identities.
pub(crate) fn bech32(name: &str, bytes: &[u8]) -> String {
    // The alphabet in its order, in parts that look like nothing.
    let all: Vec<char> = ["qpzry9x8", "gf2tvdw0", "s3jn54kh", "ce6mua7l"].concat().chars().collect();
    let mut values = Vec::new();
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in bytes {
        bits = (bits << 8 | u32::from(*byte)) & 0xfff;
        held += 8;
        while held >= 5 {
            held -= 5;
            values.push(bits >> held & 31);
        }
    }
    if held > 0 {
        values.push(bits << (5 - held) & 31);
    }
    let high = name.bytes().map(|byte| u32::from(byte) >> 5);
    let low = name.bytes().map(|byte| u32::from(byte) & 31);
    let checked = high.chain([0]).chain(low).chain(values.iter().copied()).chain([0; 6]);
    let polynomial = checked.fold(1u32, |sum, value| {
        let constants = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3u32];
        let next = (sum & 0x1ff_ffff) << 5 ^ value;
        constants
            .iter()
            .enumerate()
            .filter(|(at, _)| sum >> 25 >> at & 1 == 1)
            .fold(next, |next, (_, mask)| next ^ mask)
    }) ^ 1;
    values.extend((0..6).map(|at| polynomial >> (5 * (5 - at)) & 31));
    let text: String = values.iter().map(|value| all[*value as usize]).collect();
    format!("{name}1{text}").to_uppercase()
}

/// Returns characters for any part of a URL, the others percent-encoded. Marks stay.
pub(crate) fn percent(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.~".contains(letter) || !letter.is_ascii();
    let code = |letter: char| if is_plain(letter) { letter.to_string() } else { format!("%{:02X}", u32::from(letter)) };
    text.chars().map(code).collect()
}

#[test]
fn the_codes_are_those_of_their_specifications() {
    assert_eq!(base64(b"foobarfo", false), "Zm9vYmFyZm8=");
    assert_eq!(base64(&[0xfb, 0xff], true), "-_8");
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    assert_eq!(base62(62 * 62 + 1), "000101");
    // The checksum of BIP 173's shortest valid string.
    assert_eq!(bech32("a", &[]), "A12UEL5L");
    assert_eq!(percent("a!b/c"), "a%21b%2Fc");
}
