//! Knowledge entries: their categories, and the text of a new file.
