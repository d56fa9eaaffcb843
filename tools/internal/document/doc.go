// Package document reads the text of PDF files: page by page, in the order in which the file draws it. It does not recognise text
// in pictures.
package document
