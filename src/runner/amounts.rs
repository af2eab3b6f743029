//! Times and sums of money, as people write them.

use std::time::Duration;

/// Returns a length of time as a person writes it.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(ralph_memory::runner::duration(Duration::from_secs(61)), "1 min 1 s");
/// ```
pub fn duration(duration: Duration) -> String {
    crate::text::duration(duration)
}

/// Returns an amount of US dollars.
///
/// ```
/// assert_eq!(ralph_memory::runner::dollars(12.345), "$12.35");
/// ```
pub fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_few_figures() {
        let check = |seconds, expected: &str| assert_eq!(duration(Duration::from_secs(seconds)), expected);
        check(0, "0 s");
        check(59, "59 s");
        check(60, "1 min 0 s");
        check(3599, "59 min 59 s");
        check(3600, "1 h 0 min");
        check(90_061, "25 h 1 min");
        assert_eq!([0.0, 0.004, 0.01, 12.345].map(dollars), ["$0.00", "$0.0040", "$0.01", "$12.35"]);
    }
}
