//! Tables on a terminal: columns as wide as their widest cell.

use std::io;

use console::{Term, measure_text_width, pad_str, truncate_str};

use crate::ui::{QUIET, Ui, one_line};

/// The widest cell, in columns; longer ones are cut.
const MAX_CELL: usize = 60;

/// How much of the last column, which may be long, counts for the width of a table.
const MAX_LAST: usize = 20;

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// Writes a table with a heading for each column; nothing if there are no rows. The last column is not cut.
pub(crate) fn table<const N: usize>(
    ui: &mut Ui<'_>,
    title: &str,
    columns: [(&str, Align); N],
    rows: &[[String; N]],
) -> io::Result<()> {
    fitted_table(ui, title, columns, rows, &[])
}

/// Writes a table that leaves out some of the `dropped` columns, the first ones first, where it is wider than the terminal.
pub(crate) fn fitted_table<const N: usize>(
    ui: &mut Ui<'_>,
    title: &str,
    columns: [(&str, Align); N],
    rows: &[[String; N]],
    dropped: &[&str],
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let cell = |at: usize, text: &str| {
        let text = one_line(text);
        if at + 1 == N { text } else { truncate_str(&text, MAX_CELL, "…").into_owned() }
    };
    let rows: Vec<[String; N]> = rows.iter().map(|row| std::array::from_fn(|at| cell(at, &row[at]))).collect();
    let width = |at: usize| {
        let cells = rows.iter().map(|row| measure_text_width(&row[at]));
        cells.max().unwrap_or(0).max(measure_text_width(columns[at].0))
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let room = Term::stdout().size_checked().map_or(usize::MAX, |(_, columns)| usize::from(columns));
    let shown = fitting(columns.map(|(name, _)| name), widths, dropped, room);
    let line = |cells: &[String; N]| {
        let padded = (0..N).filter(|at| shown[*at]).map(|at| {
            let alignment = match columns[at].1 {
                Align::Left => console::Alignment::Left,
                Align::Right => console::Alignment::Right,
            };
            pad_str(&cells[at], widths[at], alignment, None).into_owned()
        });
        format!("  {}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    let heading = line(&columns.map(|(name, _)| name.to_owned()));
    let (title, heading) = (ui.styled(crate::ui::TITLE, title), ui.styled(QUIET, &heading));
    ui.line(format_args!("\n{title}\n{heading}"))?;
    for row in &rows {
        ui.line(line(row))?;
    }
    Ok(())
}

/// Returns which columns are shown in so much room. The last one may be wider than its room: a terminal wraps it.
fn fitting<const N: usize>(names: [&str; N], widths: [usize; N], dropped: &[&str], room: usize) -> [bool; N] {
    let mut shown = [true; N];
    let needs = |shown: [bool; N]| {
        let needed = |at: usize| 2 + if at + 1 == N { widths[at].min(MAX_LAST) } else { widths[at] };
        (0..N).filter(|at| shown[*at]).map(needed).sum::<usize>()
    };
    for name in dropped {
        if needs(shown) <= room {
            break;
        }
        if let Some(at) = names.iter().position(|own| own == name) {
            shown[at] = false;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_as_wide_as_the_terminal() {
        let check = |room, expected: &str| {
            let shown = fitting(["feature", "done", "cost", "last"], [10, 4, 7, 16], &["done", "cost"], room);
            let shown: String = shown.map(|shown| if shown { 'x' } else { '-' }).iter().collect();
            assert_eq!(shown, expected, "{room}");
        };
        check(usize::MAX, "xxxx");
        check(45, "xxxx");
        check(44, "x-xx");
        check(38, "x--x");
        check(10, "x--x");
    }
}
