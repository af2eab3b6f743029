//! Tables: columns are as wide as their widest cell, and columns without values are left out.

use std::io;

use console::{Alignment, measure_text_width, pad_str, truncate_str};

use crate::ui::{QUIET, TITLE, Ui, one_line};

/// The widest cell, in columns; longer ones are cut.
const MAX_CELL: usize = 60;

/// Writes a table with a heading for each column; nothing if there are no rows. A heading that ends in `#` is that of numbers. The last column
/// is not cut.
pub(crate) fn table<const N: usize>(
    ui: &mut Ui<'_>,
    title: &str,
    headings: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let cell = |at: usize, text: &str| {
        let text = one_line(text);
        if at + 1 == N { text } else { truncate_str(&text, MAX_CELL, "…").into_owned() }
    };
    let rows: Vec<[String; N]> = rows.iter().map(|row| std::array::from_fn(|at| cell(at, &row[at]))).collect();
    let known: Vec<usize> = (0..N).filter(|at| rows.iter().any(|row| !row[*at].is_empty())).collect();
    let names = headings.map(|heading| heading.trim_end_matches('#'));
    let width = |at: usize| {
        let cells = rows.iter().map(|row| measure_text_width(&row[at]));
        cells.max().unwrap_or(0).max(measure_text_width(names[at]))
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let title = ui.styled(TITLE, title);
    ui.line("")?;
    ui.line(title)?;
    let line = |cells: &[String; N]| {
        let padded = known.iter().map(|at| {
            let is_number = headings[*at].ends_with('#');
            let alignment = if is_number { Alignment::Right } else { Alignment::Left };
            pad_str(&cells[*at], widths[*at], alignment, None).into_owned()
        });
        format!("  {}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    let heading = ui.styled(QUIET, &line(&names.map(str::to_owned)));
    ui.line(heading)?;
    rows.iter().try_for_each(|row| ui.line(line(row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_in_which_nothing_is_known_is_left_out() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let row = |cells: [&str; 4]| cells.map(str::to_owned);
        let rows = [row(["9", "", "語", "the clock is wrong by an hour"]), row(["10", "", "b", "no"])];
        table(&mut Ui::plain(&mut out, &mut err, false), "Errors", ["n#", "cost#", "name", "error"], &rows).unwrap();
        let expected = "\nErrors\n   n  name  error\n   9  語    the clock is wrong by an hour\n  10  b     no\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
