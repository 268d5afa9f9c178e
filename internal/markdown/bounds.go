package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// nestingMax is how deep quotes and lists can be nested. Deeper markup is treated as text.
const nestingMax = 16

// newParser returns goldmark's parser with limits.
func newParser() parser.Parser {
	blocks := parser.DefaultBlockParsers()
	for i, b := range blocks {
		switch inner := b.Value.(parser.BlockParser); inner {
		case parser.NewBlockquoteParser():
			blocks[i].Value = boundedQuote{inner}
		case parser.NewListParser():
			blocks[i].Value = boundedList{inner}
		}
	}
	p := parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	p.AddOptions(
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
		),
		parser.WithParagraphTransformers(util.Prioritized(boundedTable{extension.NewTableParagraphTransformer()}, 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
	return p
}

// isDeep reports whether no quote or list may begin in the node.
func isDeep(n ast.Node) bool {
	depth := 0
	for ; n != nil; n = n.Parent() {
		if kind := n.Kind(); kind == ast.KindBlockquote || kind == ast.KindList {
			depth++
		}
	}
	return depth >= nestingMax
}

type boundedQuote struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (b boundedQuote) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if isDeep(parent) {
		return nil, parser.NoChildren
	}
	return b.BlockParser.Open(parent, reader, pc)
}

type boundedList struct{ parser.BlockParser }

// Open implements [parser.BlockParser]. It always calls the inner parser, which keeps its own state.
func (b boundedList) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	node, state := b.BlockParser.Open(parent, reader, pc)
	if node != nil && isDeep(parent) {
		return nil, parser.NoChildren
	}
	return node, state
}

// smallTable is the number of cells that any table may have.
const smallTable = 1000

type boundedTable struct{ parser.ParagraphTransformer }

// Transform implements [parser.ParagraphTransformer]. A row may omit cells, and the parser creates them all. So a
// text with more cells than bytes is not treated as a table.
func (b boundedTable) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	bytes, columns := 0, 0
	for i := range lines.Len() {
		line := string(reader.Value(lines.At(i)))
		bytes += len(line)
		if columns == 0 && strings.Trim(line, "|-: \t\n") == "" && strings.Contains(line, "-") {
			columns = strings.Count(line, "|") + 1
		}
	}
	if cells := columns * lines.Len(); cells <= max(bytes, smallTable) {
		b.ParagraphTransformer.Transform(node, reader, pc)
	}
}

const (
	definitionsMax = 200  // definitions that apply to all sections of a long text
	definitionMax  = 2000 // bytes per such definition
)

// definitions returns the link definitions that apply to a text with several sections. All others apply only to their
// own section.
func definitions(source string) []parser.Reference {
	var found strings.Builder
	n := 0
	for line := range strings.Lines(source) {
		trimmed := strings.TrimLeft(line, " ")
		if n == definitionsMax || !strings.HasPrefix(trimmed, "[") || len(line) > definitionMax || !strings.Contains(trimmed, "]:") {
			continue
		}
		n++
		found.WriteString(line + "\n") // a paragraph of its own
	}
	if n == 0 {
		return nil
	}
	pc := parser.NewContext()
	reader.Parse(text.NewReader([]byte(found.String())), parser.WithContext(pc))
	return pc.References()
}

// forest parses a text's sections and visits their trees one after another.
func forest(source string, visit func(s section, source []byte, tree ast.Node)) {
	cut := sections(source)
	var known []parser.Reference
	if len(cut) > 1 {
		known = definitions(source)
	}
	for _, s := range cut {
		if s.fence {
			visit(s, nil, nil)
			continue
		}
		pc := parser.NewContext()
		for _, r := range known {
			pc.AddReference(r)
		}
		bytes := []byte(s.text)
		visit(s, bytes, reader.Parse(text.NewReader(bytes), parser.WithContext(pc)))
	}
}
