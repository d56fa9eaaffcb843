// Package knowledge finds passages in documents: it decodes a document to text, divides the text into passages at its headings and
// paragraphs, indexes their words, and ranks passages by BM25. Index is the interface that another kind of retrieval implements.
//
// It never reads the bus: a Store supplies the documents. A Library owns its indexes and may be used concurrently; a Text may be
// searched concurrently once all documents were added.
package knowledge
