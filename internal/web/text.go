package web

import (
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var (
	// unseen are elements whose content is invisible.
	unseen = []atom.Atom{atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Select, atom.Canvas}
	// blocks are elements that start a line.
	blocks = []atom.Atom{
		atom.P, atom.Div, atom.Br, atom.Li, atom.Ul, atom.Ol, atom.Tr, atom.Table, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Nav, atom.Main,
		atom.Aside, atom.Blockquote, atom.Pre, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dt, atom.Dd, atom.Figure, atom.Form, atom.Hr, atom.Title,
	}
	spaces = regexp.MustCompile(`[ \t\r\f\v\x{00a0}]+`)
	lines  = regexp.MustCompile(` ?\n[ \n]*`)
)

// textMax limits the text of a document, in bytes: many short links may stand for long addresses.
const textMax = 4 << 20

// textOf returns the visible text of a document, with the addresses of its links. It reads the document once, without
// a tree, so that nesting costs nothing. cut reports that there was more.
func textOf(document io.Reader, at *url.URL) (title, text string, cut bool) {
	w := &writer{at: at}
	z := html.NewTokenizer(document)
	for w.body.Len() < textMax {
		switch z.Next() {
		case html.ErrorToken: // the end, or an unreadable rest
			return tidy(w.title.String()), tidy(w.body.String()), false
		case html.TextToken:
			w.write(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			w.begin(z.Token())
		case html.EndTagToken:
			w.end(z.Token().DataAtom)
		}
	}
	return tidy(w.title.String()), tidy(w.body.String()), true
}

// Text returns the visible text of an HTML document that is no page of the web, with the addresses of its links.
func Text(document io.Reader) string {
	_, text, _ := textOf(document, &url.URL{})
	return text
}

// writer assembles a document's text.
type writer struct {
	at          *url.URL
	title, body strings.Builder
	inTitle     bool
	hidden      atom.Atom // the element that hides its content; 0: none
	depth       int       // nesting of hidden in itself
	link        string    // address of the open link
}

func (w *writer) write(text string) {
	text = strings.ReplaceAll(text, "\n", " ")
	switch {
	case w.hidden != 0:
	case w.inTitle:
		w.title.WriteString(text)
	default:
		w.body.WriteString(text)
	}
}

func (w *writer) begin(t html.Token) {
	a := t.DataAtom
	switch {
	case w.hidden != 0:
		if a == w.hidden && t.Type == html.StartTagToken {
			w.depth++
		}
		return
	case slices.Contains(unseen, a) && t.Type == html.StartTagToken:
		w.hidden, w.depth = a, 1
		return
	case a == atom.Title:
		w.inTitle = true
	case a == atom.A:
		w.link = w.target(t)
	}
	if slices.Contains(blocks, a) {
		w.body.WriteByte('\n')
	}
	if a == atom.Li {
		w.body.WriteString("- ")
	}
}

func (w *writer) end(a atom.Atom) {
	switch {
	case w.hidden != 0:
		if a == w.hidden {
			w.depth--
		}
		if w.depth == 0 {
			w.hidden = 0
		}
		return
	case a == atom.Title:
		w.inTitle = false
	case a == atom.A && w.link != "":
		w.body.WriteString(" <" + w.link + ">")
		w.link = ""
	case a == atom.Td, a == atom.Th:
		w.body.WriteString(" | ")
	}
	if slices.Contains(blocks, a) {
		w.body.WriteByte('\n')
	}
}

// target returns a link's address if it leads to another page.
func (w *writer) target(t html.Token) string {
	for _, attribute := range t.Attr {
		if attribute.Key != "href" || strings.HasPrefix(attribute.Val, "#") {
			continue
		}
		u, err := w.at.Parse(attribute.Val)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && len(u.String()) <= addressMax {
			return u.String()
		}
	}
	return ""
}

// tidy leaves one space between words and one line break between lines.
func tidy(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.TrimSpace(lines.ReplaceAllString(spaces.ReplaceAllString(text, " "), "\n"))
}
