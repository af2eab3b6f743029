//! How many cases the randomised tests try, in the library and here.

/// Returns `number`, or as many times that as the variable `TEST_CASES_TIMES` says.
pub(crate) fn cases(number: u32) -> u32 {
    let times = std::env::var("TEST_CASES_TIMES").map_or(1, |times| {
        times.parse().unwrap_or_else(|error| panic!("TEST_CASES_TIMES is `{times}`, not a whole number: {error}"))
    });
    number * times
}
