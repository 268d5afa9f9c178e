package markdown

import (
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// inlines writes the inline children of a node.
func (p *builder) inlines(n ast.Node, st style, link string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		p.inline(c, st, link)
	}
}

func (p *builder) inline(n ast.Node, st style, link string) {
	switch n := n.(type) {
	case *ast.Text:
		p.literal(n, st, link)
	case *ast.String:
		p.write(string(n.Value), st|p.raw, link)
	case *ast.CodeSpan:
		p.write(p.codeSpan(n), st|code, link)
	case *ast.Emphasis:
		if n.Level >= 2 {
			st |= bold
		} else {
			st |= italic
		}
		p.inlines(n, st, link)
	case *extast.Strikethrough:
		p.inlines(n, st|strike, link)
	case *ast.Link:
		p.linked(n, n.Destination, n.Reference, st, link)
	case *ast.Image:
		p.linked(n, n.Destination, n.Reference, st, link)
	case *ast.AutoLink:
		p.write(string(n.Label(p.source)), st|p.raw, link)
	case *ast.RawHTML:
		p.rawHTML(n, st, link)
	case *extast.TaskCheckBox:
		box := "☐ "
		if n.IsChecked {
			box = "☑ "
		}
		p.write(box, st, link)
	default:
		p.inlines(n, st, link)
	}
}

func (p *builder) literal(n *ast.Text, st style, link string) {
	if n.IsRaw() {
		p.write(string(n.Value(p.source)), st|p.raw, link)
	} else {
		p.write(unescape(n.Value(p.source)), st|p.raw, link)
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		p.write("\n", st|p.raw, link) // in chats, line breaks are kept
	}
}

func (p *builder) codeSpan(n *ast.CodeSpan) string {
	var out strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			out.Write(t.Value(p.source))
		}
	}
	return strings.ReplaceAll(out.String(), "\n", " ")
}

// linked writes a link or an image. A link definition may be used many times: when the repetitions of its address
// exceed the budget of the text, only the link's text is written.
func (p *builder) linked(n ast.Node, destination []byte, reference *ast.ReferenceLink, st style, outer string) {
	if reference != nil {
		if p.spare -= len(destination); p.spare < 0 {
			p.inlines(n, st, outer)
			return
		}
	}
	p.link(n, unescape(destination), st, outer)
}

// link writes a link or an image. An address that platforms can't link is written after the text, so that it is not
// lost.
func (p *builder) link(n ast.Node, address string, st style, outer string) {
	if outer != "" { // an image in a link: the outer link wins
		p.inlines(n, st, outer)
		return
	}
	shown, linkable := linkTarget(address)
	if !n.HasChildren() {
		p.write(shown, st|p.raw, "")
		return
	}
	if linkable {
		p.inlines(n, st, address)
		return
	}
	p.inlines(n, st, "")
	if shown != "" {
		p.write(" ("+shown+")", st|p.raw, "")
	}
}

// linkTarget returns an address in readable form, and whether platforms link it.
func linkTarget(address string) (shown string, linkable bool) {
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil || strings.ContainsAny(address, "\n\t") {
		return address, false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return address, strings.Contains(u.Hostname(), ".")
	case "tg":
		return address, u.Host != ""
	case "mailto", "tel":
		return u.Opaque, false
	}
	return address, false
}

// htmlStyles are the HTML tags that models often mix into Markdown.
var htmlStyles = map[string]style{
	"b": bold, "strong": bold, "i": italic, "em": italic, "u": underline, "ins": underline,
	"s": strike, "del": strike, "strike": strike, "code": code,
}

// rawHTML interprets simple style tags and shows any other HTML as text.
func (p *builder) rawHTML(n *ast.RawHTML, st style, link string) {
	tag := string(n.Segments.Value(p.source))
	name := strings.ToLower(strings.TrimSpace(strings.Trim(tag, "</>")))
	closing := strings.HasPrefix(tag, "</")
	switch s, known := htmlStyles[name]; {
	case name == "br" && !closing:
		p.write("\n", st|p.raw, link)
	case known && !closing:
		p.raw |= s
	case known && p.raw&s != 0:
		p.raw &^= s
	default:
		p.write(tag, st|p.raw, link)
	}
}

// unescape resolves backslash escapes and entities in one pass, so that an
// escaped ampersand starts no entity.
func unescape(raw []byte) string {
	s := string(raw)
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && isPunct(s[i+1]):
			i++
			out.WriteByte(s[i])
		case s[i] == '&':
			plain, n := entity(s[i:])
			out.WriteString(plain)
			i += n - 1
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// entity decodes the entity at the start of s and returns its length.
func entity(s string) (string, int) {
	const longest = 40
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 0 {
		return "&", 1
	}
	plain := html.UnescapeString(s[:end+1])
	if strings.HasSuffix(plain, ";") && strings.HasPrefix(plain, "&") || strings.IndexFunc(plain, isControl) >= 0 {
		return "&", 1
	}
	return plain, end + 1
}

func isPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}
