// Package document extracts the text of documents that people send: PDF, Word, Excel, PowerPoint, OpenDocument, EPUB and
// HTML. Of an archive it lists the files and unpacks none.
//
// A document may be made to attack the program that reads it. So the gateway reads none itself: it starts a command in the
// sandbox, without network and files, and gives it the document as its input. For PDF the command is pdftotext (package
// poppler-utils); for all others it is the gateway's own program, see [Main]. Memory, time, output and what is unpacked are bounded.
//
//	content ──► Reader.Text ──► bwrap ──► pdftotext | sluice document-text ──► text
package document
