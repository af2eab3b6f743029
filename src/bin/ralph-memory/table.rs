//! Tables on a terminal: columns as wide as their widest cell.

use std::io;

use console::{measure_text_width, pad_str, truncate_str};

use crate::ui::{QUIET, Ui, one_line};

/// The widest cell, in columns; longer ones are cut.
const MAX_CELL: usize = 60;

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
    let line = |cells: &[String; N]| {
        let padded = (0..N).map(|at| {
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
