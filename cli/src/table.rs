//! Columns for people. Programs use `--json`.

/// Lines up rows under their headings; the last column is not padded.
pub(crate) fn render<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = headings.map(|heading| heading.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut lines = vec![line(&widths, headings.iter().copied())];
    lines.extend(rows.iter().map(|row| line(&widths, row.iter().map(String::as_str))));
    lines.join("\n")
}

fn line<'a>(widths: &[usize], cells: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for (width, cell) in widths.iter().zip(cells) {
        let padding = width.saturating_sub(cell.chars().count()) + 2;
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', padding));
    }
    text.truncate(text.trim_end().len());
    text
}

/// A body on one line, shortened: text as it is with control characters escaped, anything else by
/// its size.
pub(crate) fn body_preview(body: &[u8]) -> String {
    const PREVIEW_CHARACTERS: usize = 60;
    match std::str::from_utf8(body) {
        Ok(text) => {
            let mut preview: String = text.chars().take(PREVIEW_CHARACTERS).flat_map(escape).collect();
            if text.chars().nth(PREVIEW_CHARACTERS).is_some() {
                preview.push('…');
            }
            preview
        }
        Err(_) => format!("({} bytes)", body.len()),
    }
}

fn escape(character: char) -> Box<dyn Iterator<Item = char>> {
    if character.is_control() { Box::new(character.escape_default()) } else { Box::new(std::iter::once(character)) }
}

/// An optional value, or a dash.
pub(crate) fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_characters_and_lines_have_no_trailing_blanks() {
        let rows = [["ä".to_owned(), "1".to_owned()], ["long".to_owned(), String::new()]];
        assert_eq!(render(["id", "n"], &rows), "id    n\nä     1\nlong");
    }

    #[test]
    fn a_body_cannot_move_the_cursor_of_the_terminal() {
        assert_eq!(body_preview(b"a\nb\x1b[2J"), "a\\nb\\u{1b}[2J");
        assert_eq!(body_preview(&[0xff, 0xfe]), "(2 bytes)");
        assert_eq!(body_preview("x".repeat(61).as_bytes()).chars().count(), 61);
    }
}
