package document

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"

	"github.com/xuri/excelize/v2"

	"sluice/internal/web"
)

// dialect says which elements of a format hold text, by their local names.
type dialect struct {
	text   []string          // their characters are text; empty: all characters below a paragraph
	end    map[string]string // what follows an element
	hidden []string          // their content is left out
	cell   string            // a cell of a table; what ends a line elsewhere is a space in it
}

var (
	word         = dialect{text: []string{"t"}, end: map[string]string{"p": "\n", "tab": "\t", "br": "\n", "cr": "\n", "tc": "\t", "tr": "\n"}, hidden: []string{"del", "moveFrom"}, cell: "tc"}
	presentation = dialect{text: []string{"t"}, end: map[string]string{"p": "\n", "br": "\n", "tc": "\t", "tr": "\n"}, cell: "tc"}
	openDocument = dialect{
		text: []string{"p", "h"}, hidden: []string{"tracked-changes", "annotation"},
		end:  map[string]string{"p": "\n", "h": "\n", "tab": "\t", "line-break": "\n", "s": " ", "table-cell": "\t", "table-row": "\n"},
		cell: "table-cell",
	}
)

// texts writes the text of some parts, as far as the archive has them.
func (p parts) texts(w io.Writer, d dialect, names ...string) error {
	for _, name := range names {
		if f := p.find(name); f != nil {
			if err := p.text(w, d, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// text writes the text of one part.
func (p parts) text(w io.Writer, d dialect, name string) error {
	part, err := p.open(p.find(name))
	if err != nil {
		return err
	}
	defer part.Close() //nolint:errcheck // only read from
	texts, hidden, cells := 0, 0, 0
	for x := xml.NewDecoder(part); ; {
		token, err := x.RawToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		wrote := ""
		switch t := token.(type) {
		case xml.StartElement:
			switch {
			case slices.Contains(d.hidden, t.Name.Local):
				hidden++
			case slices.Contains(d.text, t.Name.Local):
				texts++
			case t.Name.Local == d.cell:
				cells++
			}
		case xml.EndElement:
			switch {
			case slices.Contains(d.hidden, t.Name.Local):
				hidden--
			case slices.Contains(d.text, t.Name.Local):
				texts--
			case t.Name.Local == d.cell:
				cells--
			}
			if wrote = d.end[t.Name.Local]; wrote == "\n" && cells > 0 {
				wrote = " "
			}
		case xml.CharData:
			if texts > 0 {
				wrote = string(t)
			}
		}
		if wrote != "" && hidden <= 0 {
			if _, err := io.WriteString(w, wrote); err != nil {
				return err
			}
		}
	}
}

var slideName = regexp.MustCompile(`^ppt/slides/slide(\d{1,6})\.xml$`)

// slides writes the text of a presentation, slide by slide.
func (p parts) slides(w io.Writer) error {
	var numbers []int
	for _, f := range p.File {
		if m := slideName.FindStringSubmatch(f.Name); m != nil {
			n, _ := strconv.Atoi(m[1]) // of at most six digits
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for i, n := range slices.Compact(numbers) {
		if _, err := fmt.Fprintf(w, "[Slide %d]\n", i+1); err != nil {
			return err
		}
		if err := p.texts(w, presentation, fmt.Sprintf("ppt/slides/slide%d.xml", n)); err != nil {
			return err
		}
	}
	return nil
}

// writeSheets writes the cells of a workbook as they are shown, one row in a line, with tabs between the cells.
func writeSheets(w io.Writer, content []byte) error {
	book, err := excelize.OpenReader(bytes.NewReader(content), excelize.Options{UnzipSizeLimit: allMax, UnzipXMLSizeLimit: partMax})
	if err != nil {
		return err
	}
	defer book.Close() //nolint:errcheck // its temporary files end with the sandbox
	for _, sheet := range book.GetSheetList() {
		if _, err := fmt.Fprintf(w, "[Sheet %s]\n", sheet); err != nil {
			return err
		}
		rows, err := book.Rows(sheet)
		if err != nil {
			return err
		}
		for rows.Next() {
			cells, err := rows.Columns()
			if err != nil {
				return err
			}
			if err := writeRow(w, cells); err != nil {
				return err
			}
		}
		if err := rows.Error(); err != nil {
			return err
		}
	}
	return nil
}

func writeRow(w io.Writer, cells []string) error {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	for i, cell := range cells {
		if i > 0 {
			cell = "\t" + cell
		}
		if _, err := io.WriteString(w, cell); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// book writes the text of an EPUB in its reading order.
func (p parts) book(w io.Writer) error {
	var container struct {
		Roots []struct {
			Path string `xml:"full-path,attr"`
		} `xml:"rootfiles>rootfile"`
	}
	if err := p.decode("META-INF/container.xml", &container); err != nil {
		return err
	}
	if len(container.Roots) == 0 {
		return errDamaged
	}
	var contents struct {
		Items []struct {
			ID   string `xml:"id,attr"`
			Path string `xml:"href,attr"`
		} `xml:"manifest>item"`
		Spine []struct {
			ID string `xml:"idref,attr"`
		} `xml:"spine>itemref"`
	}
	root := container.Roots[0].Path
	if err := p.decode(root, &contents); err != nil {
		return err
	}
	paths := map[string]string{}
	for _, item := range contents.Items {
		paths[item.ID] = path.Join(path.Dir(root), item.Path)
	}
	for _, chapter := range contents.Spine {
		part, err := p.open(p.find(cmp.Or(paths[chapter.ID], chapter.ID)))
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, web.Text(part)+"\n\n")
		if err = errors.Join(err, part.Close()); err != nil {
			return err
		}
		if *p.left < 0 {
			return errTooMuch
		}
	}
	return nil
}

func (p parts) decode(name string, v any) error {
	part, err := p.open(p.find(name))
	if err != nil {
		return err
	}
	defer part.Close() //nolint:errcheck // only read from
	return xml.NewDecoder(part).Decode(v)
}
