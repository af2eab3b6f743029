//! A small index in memory, of entries that the committed one does not hold yet.

use tantivy::directory::RamDirectory;
use tantivy::indexer::SingleSegmentIndexWriter;
use tantivy::{Index, SegmentReader, TantivyDocument};

use super::document::{Document, IndexFields};
use super::tokens::Stems;

/// Memory for the terms of a few entries; preparing Tantivy's usual 15 MB takes 4 ms. It is not a limit.
const MEMORY_BYTES: usize = 300_000;

/// Takes entries, then becomes a small index. Nothing is allocated before the first entry.
#[derive(Default)]
pub struct OverlayBuilder {
    writer: Option<SingleSegmentIndexWriter<TantivyDocument>>,
    fields: IndexFields,
    stems: Stems,
}

impl OverlayBuilder {
    /// Adds a document.
    pub fn add(&mut self, document: Document<'_>) -> tantivy::Result<()> {
        let document = document.to_tantivy(&self.fields, &mut self.stems);
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(Self::writer(&self.fields)?),
        };
        writer.add_document(document)
    }

    fn writer(fields: &IndexFields) -> tantivy::Result<SingleSegmentIndexWriter<TantivyDocument>> {
        Index::builder()
            .schema(fields.schema.clone())
            .settings(super::settings())
            .single_segment_index_writer(RamDirectory::create(), MEMORY_BYTES)
    }

    /// Returns the segments of the finished index.
    pub fn finish(self) -> tantivy::Result<Vec<SegmentReader>> {
        let Some(writer) = self.writer else { return Ok(Vec::new()) };
        writer.finalize()?.searchable_segments()?.iter().map(SegmentReader::open).collect()
    }
}
