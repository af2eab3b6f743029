//! Tables on a terminal: columns are as wide as their widest cell, and columns without values are left out. If a
//! terminal is too narrow for a table, each row is a paragraph.

use std::io;

use console::{Alignment, measure_text_width, pad_str, truncate_str};

use crate::ui::{PLAIN, QUIET, TITLE, Ui, one_line};

/// The widest cell, in columns; longer ones are cut.
const MAX_CELL: usize = 60;
/// How much of the last column, which is not cut, must have room for a table.
const MIN_LAST: usize = 20;

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
    let needed = |at: usize| 2 + if at + 1 == N { widths[at].min(MIN_LAST) } else { widths[at] };
    let title = ui.styled(TITLE, title);
    ui.line(format_args!("\n{title}"))?;
    if ui.columns.is_some_and(|columns| columns < known.iter().map(|at| needed(*at)).sum()) {
        return rows.iter().try_for_each(|row| paragraph(ui, names, row));
    }
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
    // A long last cell goes on below itself.
    let before_last: usize = known.iter().filter(|at| **at + 1 < N).map(|at| widths[*at] + 2).sum();
    rows.iter().try_for_each(|row| {
        let line = line(row);
        let n_spaces = line.len() - line.trim_start().len();
        ui.hanging((before_last + 2).saturating_sub(n_spaces), line)
    })
}

/// Writes a row as a paragraph: each of its cells with its heading.
fn paragraph<const N: usize>(ui: &mut Ui<'_>, names: [&str; N], row: &[String; N]) -> io::Result<()> {
    let cells = names.into_iter().zip(row).filter(|(_, cell)| !cell.is_empty());
    let cells = cells.map(|(name, cell)| format!("{} {}", ui.styled(QUIET, name), ui.styled(PLAIN, cell)));
    let cells = cells.collect::<Vec<_>>().join(" · ");
    ui.hanging(2, format_args!("  {cells}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(columns: Option<usize>) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui { columns, ..Ui::plain(&mut out, &mut err, false) };
        let headings = ["n#", "cost#", "name", "error"];
        let row = |cells: [&str; 4]| cells.map(str::to_owned);
        let rows = [row(["9", "", "語", "the clock is wrong by an hour"]), row(["10", "", "b", "no"])];
        table(&mut ui, "Errors", headings, &rows).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_column_in_which_nothing_is_known_is_left_out() {
        let expected = "\nErrors\n   n  name  error\n   9  語    the clock is wrong by an hour\n  10  b     no\n";
        assert_eq!(shown(None), expected);
        assert_eq!(shown(Some(80)), expected);
    }

    #[test]
    fn the_last_cell_goes_on_below_itself() {
        let expected =
            "\nErrors\n   n  name  error\n   9  語    the clock is wrong\n            by an hour\n  10  b     no\n";
        assert_eq!(shown(Some(32)), expected);
    }

    #[test]
    fn on_a_narrow_terminal_each_row_is_a_paragraph() {
        let expected = "\nErrors\n  n 9 · name 語 ·\n    error the clock\n    is wrong by an\n    hour\n  n 10 · name b ·\n    error no\n";
        assert_eq!(shown(Some(20)), expected);
    }
}
