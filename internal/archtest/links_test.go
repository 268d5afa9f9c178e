package archtest_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Every relative link in the documents leads to a file of the repository and, with a #, to a heading in it.
func TestLinksOfDocuments(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	pages := map[string]*page{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."), d.Name() == "testdata":
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"):
			source, err := os.ReadFile(path)
			pages[path] = readPage(source)
			return err
		}
		return nil
	}))
	require.Contains(t, pages, filepath.Join(root, "README.md"))
	for path, p := range pages {
		for _, link := range p.links {
			require.NoError(t, follow(pages, path, link), "%s links to %s", path, link)
		}
	}
}

// follow looks for what a link of a page leads to.
func follow(pages map[string]*page, from, link string) error {
	u, err := url.Parse(link)
	if err != nil || u.IsAbs() || u.Host != "" {
		return err
	}
	target := from
	if u.Path != "" {
		target = filepath.Join(filepath.Dir(from), filepath.FromSlash(u.Path))
	}
	if _, err := os.Stat(target); err != nil {
		return err
	}
	if u.Fragment != "" && (pages[target] == nil || !pages[target].anchors[u.Fragment]) {
		return fmt.Errorf("%s has no heading #%s", target, u.Fragment)
	}
	return nil
}

// page is what of a document matters for links.
type page struct {
	links   []string
	anchors map[string]bool
}

func readPage(source []byte) *page {
	p := &page{anchors: map[string]bool{}}
	tree := goldmark.DefaultParser().Parse(text.NewReader(source))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			p.links = append(p.links, string(n.Destination))
		case *ast.Image:
			p.links = append(p.links, string(n.Destination))
		case *ast.Heading:
			p.anchor(words(n, source))
		}
		return ast.WalkContinue, nil
	})
	return p
}

// anchor notes a heading by the name that GitHub gives it: several of one name are numbered.
func (p *page) anchor(heading string) {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
	name := slug
	for n := 1; p.anchors[name]; n++ {
		name = fmt.Sprintf("%s-%d", slug, n)
	}
	p.anchors[name] = true
}

// words is the text of a node without its markup.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // never fails
		if leaf, ok := n.(*ast.Text); ok && entering {
			b.Write(leaf.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	t.Parallel()
	p := readPage([]byte("# A `key.path` & more\n\n## Twice\n\n## Twice\n\n[a](x.md#y) ![b](c.png)\n\n    [no](link.md)\n"))
	require.Equal(t, map[string]bool{"a-keypath--more": true, "twice": true, "twice-1": true}, p.anchors)
	require.Equal(t, []string{"x.md#y", "c.png"}, p.links)
}
