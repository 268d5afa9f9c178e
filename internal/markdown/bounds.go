package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// nestingMax is how deep quotes and lists may stand in each other. What would be deeper is a part of the text.
const nestingMax = 16

// newParser is goldmark's parser with bounds.
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

// isDeep: no quote or list may begin in the node.
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

// Open implements [parser.BlockParser]. The inner parser is asked in any case, because it keeps a state of its own.
func (b boundedList) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	node, state := b.BlockParser.Open(parent, reader, pc)
	if node != nil && isDeep(parent) {
		return nil, parser.NoChildren
	}
	return node, state
}

// smallTable is how many cells any table may have.
const smallTable = 1000

type boundedTable struct{ parser.ParagraphTransformer }

// Transform implements [parser.ParagraphTransformer]. A row may leave cells out, and the parser makes them all the same.
// So a text that would have more cells than bytes is not a table.
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
	definitionsMax = 200  // definitions that count in the whole of a long text
	definitionMax  = 2000 // bytes of such a definition
)

// definitions are the link definitions of a text that has more than one section. Without them each section has its own.
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

// forest gives the trees of a text's sections, one after another.
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
