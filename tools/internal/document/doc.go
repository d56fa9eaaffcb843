// Package document reads the text of PDF files: page by page, in the order in which the file draws it. Pictures of text are not read.
package document
