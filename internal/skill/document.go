package skill

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"sluice/internal/visible"
)

const (
	// FileName is the file that makes a folder a skill.
	FileName = "SKILL.md"
	// documentMax is the size of SKILL.md, headMax that of its front matter, in bytes.
	documentMax, headMax = 64 << 10, 16 << 10
	// descriptionMax is the length of a description in characters.
	descriptionMax = 1024
	nameMax        = 64
)

var nameShape = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Document is a SKILL.md.
type Document struct {
	Name        string
	Description string // on one line, without invisible characters
	Text        string // the instructions
}

// CheckName says what is wrong with a skill's name.
func CheckName(name string) error {
	if len(name) > nameMax || !nameShape.MatchString(name) {
		return fmt.Errorf("name %q: want a-z 0-9 and single hyphens between them, at most %d characters", visible.Line(cut(name, nameMax)), nameMax)
	}
	return nil
}

// Parse reads a SKILL.md. Further keys of the front matter are ignored: they are the author's notes, and give no rights.
func Parse(content []byte) (Document, error) {
	if len(content) > documentMax {
		return Document{}, fmt.Errorf("%s: has more than %d bytes", FileName, documentMax)
	}
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return Document{}, fmt.Errorf("%s: is not UTF-8 text", FileName)
	}
	head, text, err := split(string(content))
	if err != nil {
		return Document{}, fmt.Errorf("%s: %w", FileName, err)
	}
	var front struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if err := yaml.Unmarshal([]byte(head), &front); err != nil {
		return Document{}, fmt.Errorf("%s: front matter: %s", FileName, visible.Line(cut(err.Error(), 300)))
	}
	d := Document{Name: front.Name, Description: visible.Line(strings.Join(strings.Fields(front.Description), " ")), Text: strings.TrimSpace(text)}
	switch {
	case d.Name == "":
		return Document{}, fmt.Errorf("%s: front matter: name is missing", FileName)
	case d.Description == "":
		return Document{}, fmt.Errorf("%s: front matter: description is missing: say what the skill does and when to use it", FileName)
	case utf8.RuneCountInString(d.Description) > descriptionMax:
		return Document{}, fmt.Errorf("%s: front matter: description has more than %d characters", FileName, descriptionMax)
	}
	if err := CheckName(d.Name); err != nil {
		return Document{}, fmt.Errorf("%s: front matter: %w", FileName, err)
	}
	return d, nil
}

// split cuts the front matter off.
func split(content string) (head, text string, err error) {
	content = strings.ReplaceAll(strings.TrimPrefix(content, "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(content, "---\n")
	if !ok {
		return "", "", errors.New(`does not begin with front matter: a line "---", name and description, and a line "---"`)
	}
	head, text, ok = strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return "", "", errors.New(`the front matter does not end with a line "---"`)
		}
	}
	if len(head) > headMax {
		return "", "", fmt.Errorf("the front matter has more than %d bytes", headMax)
	}
	return head, text, nil
}

// cut is the beginning of a text of at most this many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
