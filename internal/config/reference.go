package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"sluice/internal/config/scalar"
	"sluice/internal/config/tags"
	"sluice/policy/flow"
)

const referenceHead = `# Configuration

<!-- Generated from the types in internal/config by "make generate"; do not edit. -->

The configuration is one YAML 1.2 file, ` + "`sluice.yaml`" + ` (JSON works too). The gateway looks for it in
this order: ` + "`--config`, `$SLUICE_CONFIG`, `./sluice.yaml`, `$XDG_CONFIG_HOME/sluice/sluice.yaml`" + `.
Without a file, it runs with its embedded database and bus.

| command | effect |
| --- | --- |
| ` + "`sluice init`" + ` | write a file with comments |
| ` + "`sluice config check`" + ` | list every error with its position |
| ` + "`sluice config show`" + ` | print the configuration with all defaults; secrets are hidden |
| ` + "`sluice config list`, `set`, `unset`, `history`, `rollback`" + ` | show and change the settings of a running gateway ([operations](operations.md#change-the-configuration)); so does the page under Config |
| ` + "`sluice config schema`" + ` | print the JSON Schema for editors, [sluice.schema.json](sluice.schema.json) |

- In a value, ` + "`${NAME}`" + ` is replaced by an environment variable, ` + "`${file:/path}`" + ` by the content
  of a file, and ` + "`${credential:name}`" + ` by the credential that systemd has given to the service
  (` + "`LoadCredential=name:/path`" + ` in its unit); the last line break of a file is left out. The content is
  never parsed as YAML. A missing variable, file or credential is an error. ` + "`$${`" + ` stands for a literal ` + "`${`" + `.
- An unknown key is an error, and so is a key of a later version.
- Levels, from lowest to highest: ` + "`PUBLIC`, `INTERNAL`, `CONFIDENTIAL`, `RESTRICTED`" + `.
- Durations are written like ` + "`90s`, `10m`, `24h`" + `.

`

// Reference returns docs/configuration.md, generated from the tree's types.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	root := reflect.ValueOf(*Default())
	table(&b, "Top level", scalars(root))
	for _, f := range tags.Of(root.Type()).Fields {
		if v := root.FieldByIndex(f.Index); composite(v) {
			describe(&b, f.Name, f.Doc, v)
		}
	}
	return b.Bytes()
}

type row struct {
	tags.Field
	value reflect.Value
}

// describe writes the table of one section, then those below it.
func describe(b *bytes.Buffer, path, doc string, v reflect.Value) {
	suffix := ""
	switch v.Kind() {
	case reflect.Map:
		suffix = ".<name>"
	case reflect.Slice:
		suffix = "[]"
	}
	if suffix != "" {
		var d decoder
		v = d.element(v.Type())
	}
	path += suffix
	fmt.Fprintf(b, "## %s\n\n%s\n\n", "`"+path+"`", doc)
	table(b, "", scalars(v))
	for _, f := range tags.Of(v.Type()).Fields {
		if below := v.FieldByIndex(f.Index); composite(below) {
			describe(b, path+"."+f.Name, f.Doc, below)
		}
	}
}

func scalars(v reflect.Value) []row {
	var rows []row
	for _, f := range tags.Of(v.Type()).Fields {
		if x := v.FieldByIndex(f.Index); !composite(x) {
			rows = append(rows, row{f, x})
		}
	}
	return rows
}

// composite reports whether a value has its own section.
func composite(v reflect.Value) bool {
	switch v.Interface().(type) {
	case flow.Level, scalar.Rate:
		return false
	}
	t := v.Type()
	if t.Kind() == reflect.Map || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

func table(b *bytes.Buffer, title string, rows []row) {
	if len(rows) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintf(b, "## %s\n\n", title)
	}
	b.WriteString("| key | default | meaning |\n| --- | --- | --- |\n")
	for _, r := range rows {
		doc := r.Doc
		if len(r.Enum) > 0 {
			doc += " One of `" + strings.Join(r.Enum, "`, `") + "`."
		}
		if r.Min != nil {
			doc += " " + strings.ToUpper(wholeNumber(r.Field)[:1]) + wholeNumber(r.Field)[1:] + "."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", r.Name, shownDefault(r.value), forTable.Replace(doc))
	}
	b.WriteString("\n")
}

// forTable escapes characters that would be read as a tag or a column.
var forTable = strings.NewReplacer("|", "\\|", "<", "&lt;", ">", "&gt;")

func shownDefault(v reflect.Value) string {
	value, ok := defaultText(v)
	if !ok {
		return ""
	}
	if s, ok := value.(string); ok {
		return "`" + s + "`"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return "" // only plain values have a default
	}
	return "`" + string(data) + "`"
}
