package markdown

import (
	"regexp"
	"strings"
)

// maxAddress is the maximum length of a link's address, with all escapes. Longer addresses stay text, which can be
// cut. It leaves half of a Discord message for the link's text.
const maxAddress = 1000

var bareAddress = regexp.MustCompile(`https?://[^\s<>|\x{a0}\x{200b}]*[^\s<>|\x{a0}\x{200b}.,:;!?"'()\[\]{}]`)

// bareAddresses returns the positions of the unmarked addresses in a text.
func bareAddresses(text string) [][]int {
	if !strings.Contains(text, "://") {
		return nil
	}
	return bareAddress.FindAllStringIndex(text, -1)
}

// linkBare turns the unmarked addresses in a text into links, so that they are cut like links.
func linkBare(b block) block {
	if b.code {
		return b
	}
	var out joiner
	for _, s := range b.spans {
		if s.url != "" || s.style&code != 0 {
			out.add(s)
			continue
		}
		from := 0
		for _, at := range bareAddresses(s.text) {
			out.add(span{text: s.text[from:at[0]], style: s.style})
			out.add(bareSpan(s.text[at[0]:at[1]], s.style))
			from = at[1]
		}
		out.add(span{text: s.text[from:], style: s.style})
	}
	b.spans = out.all()
	return b
}

func bareSpan(address string, st style) span {
	if _, linkable := linkTarget(address); !linkable || addressCost(address) > maxAddress {
		return span{text: address, style: st}
	}
	return span{text: address, style: st, url: address}
}

// unlinkLong writes addresses that are too long for a link after their text.
func unlinkLong(b block) block {
	if b.code {
		return b
	}
	var out joiner
	for i, s := range b.spans {
		if s.url == "" || addressCost(s.url) <= maxAddress {
			out.add(s)
			continue
		}
		out.add(span{text: s.text, style: s.style})
		if i+1 == len(b.spans) || b.spans[i+1].url != s.url {
			out.add(span{text: " (" + s.url + ")"})
		}
	}
	b.spans = out.all()
	return b
}

// addressCost is the longest form of an address on any platform.
func addressCost(address string) int {
	n := 0
	for i := range len(address) {
		switch c := address[i]; {
		case c == '&':
			n += len("&amp;")
		case strings.IndexByte(mustEncode, c) >= 0:
			n += len("%00")
		default:
			n++
		}
	}
	return n
}

// mustEncode are the characters that would end an address, or be markup in it, on one of the platforms.
const mustEncode = " \t\n\"'<>()[]{}|\\" + marksOfStyles

const marksOfStyles = "*_~`"

// encode percent-encodes the given characters of an address, which servers treat as equal, and writes its scheme in
// lower case, as platforms require.
func encode(address, chars string) string {
	if scheme, rest, ok := strings.Cut(address, ":"); ok {
		address = strings.ToLower(scheme) + ":" + rest
	}
	if !strings.ContainsAny(address, chars) {
		return address
	}
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(address) {
		c := address[i]
		if strings.IndexByte(chars, c) >= 0 {
			out.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}
