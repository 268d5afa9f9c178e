package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// table draws a table with aligned columns, which is shown as code.
func (p *builder) table(t *extast.Table) string {
	var rows [][]string
	size := 0
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, p.cell(cell))
			size += len(cells[len(cells)-1])
		}
		rows = append(rows, cells)
	}
	widths := make([]int, len(t.Alignments))
	for _, cells := range rows {
		for i, c := range cells {
			if i < len(widths) {
				widths[i] = max(widths[i], utf8.RuneCountInString(c))
			}
		}
	}
	narrow(widths, len(rows), padMax*size+padMore)
	var out strings.Builder
	for i, cells := range rows {
		writeRow(&out, cells, widths, t.Alignments)
		if i == 0 {
			writeRule(&out, widths)
		}
	}
	return out.String()
}

// cell is a cell's text without styles.
func (p *builder) cell(n ast.Node) string {
	inner := &builder{source: p.source}
	inner.begin(place{})
	inner.inlines(n, 0, "")
	inner.finish()
	var out strings.Builder
	for _, b := range inner.blocks {
		for _, s := range b.spans {
			out.WriteString(strings.ReplaceAll(s.text, "\n", " "))
			if s.url != "" && s.url != s.text {
				out.WriteString(" (" + s.url + ")")
			}
		}
	}
	return out.String()
}

// At most padMax times the bytes of a table's cells, plus padMore, are spent on spaces that align its columns.
const (
	padMax  = 8
	padMore = 4 << 10
)

// narrow reduces the column widths until the whole table fits into most characters. A cell that is wider than its
// column overflows it.
func narrow(widths []int, rows, most int) {
	for limit := slices.Max(append(widths, 0)); ; limit /= 2 {
		sum := 0
		for i, w := range widths {
			widths[i] = min(w, limit)
			sum += widths[i]
		}
		if limit == 0 || sum*rows <= most {
			return
		}
	}
}

func writeRow(out *strings.Builder, cells []string, widths []int, aligned []extast.Alignment) {
	var line strings.Builder
	for i, c := range cells {
		if i >= len(widths) {
			break
		}
		if i > 0 {
			line.WriteString(" | ")
		}
		pad := max(0, widths[i]-utf8.RuneCountInString(c))
		left := 0
		switch aligned[i] {
		case extast.AlignRight:
			left = pad
		case extast.AlignCenter:
			left = pad / 2
		}
		line.WriteString(strings.Repeat(" ", left) + c + strings.Repeat(" ", pad-left))
	}
	out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

func writeRule(out *strings.Builder, widths []int) {
	for i, w := range widths {
		if i > 0 {
			out.WriteString("-+-")
		}
		out.WriteString(strings.Repeat("-", w))
	}
	out.WriteByte('\n')
}

func isStructured(tree ast.Node) (found bool) {
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the visitor returns no error
		_, table := n.(*extast.Table)
		list, isList := n.(*ast.List)
		if table || isList && list.Parent() != nil && list.Parent().Kind() == ast.KindListItem {
			found = true
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return found
}
