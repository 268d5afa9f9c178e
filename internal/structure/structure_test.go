package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The program keeps its limits: at most 40 methods per type, 12 per interface and 3,000 lines per package.
// What breaks one today is in over.txt and may only shrink.
func TestTheProgramKeepsItsLimits(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	figures, err := measure(root)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(overFile)))
	require.NoError(t, err)
	over, err := parseOver(string(text))
	require.NoError(t, err)
	for _, fault := range check(figures, over) {
		t.Error(fault)
	}
}

// write makes a module of some files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func small() map[string]string {
	return map[string]string{
		"go.mod":             "module small\n",
		"cmd/sluice/main.go": "package main\n\nimport \"small/a\"\n\nfunc main() { a.Do() }\n",
		"a/a.go": `// Package a does it.
package a

import (
	other "io"

	"small/b"
)

// T is generic.
type T[K any] struct{ b.Far }

func (t *T[K]) One() {}

func (T[K]) two() {}

// All embeds.
type All interface {
	other.ReadCloser
	b.Port[int]
	error
	own
	Close() error // twice
}

type own interface{ Own() }

type same = b.Port[int]

type number interface{ ~int | ~string }

const text = ` + "`two\nlines`" + `

func Do() {}
`,
		"a/a_test.go":      "package a\n\nfunc (T[K]) InATest() {}\n",
		"a/a_windows.go":   "package a\n\nfunc (T[K]) Elsewhere() {}\n",
		"a/tagged.go":      "//go:build mutants\n\npackage a\n\nfunc (T[K]) Tagged() {}\n",
		"b/b.go":           "package b\n\ntype Far struct{}\n\nfunc (Far) Promoted() {}\n\ntype Port[X any] interface{ Ask(X); Tell(X) }\n",
		"unused/unused.go": "package unused\n\ntype U int\n\nfunc (U) M() {}\n",
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	figures, err := measure(write(t, small()))
	require.NoError(t, err)
	require.Equal(t, []figure{
		{kind: kindType, name: "a.T", count: 2},
		{kind: kindType, name: "b.Far", count: 1},
		{kind: kindInterface, name: "a.All", count: 6}, // Read Close Ask Tell Error Own
		{kind: kindInterface, name: "b.Port", count: 2},
		{kind: kindInterface, name: "a.own", count: 1},
		{kind: kindInterface, name: "a.number", count: 0},
		{kind: kindPackage, name: "a", count: 35, code: 21},
		{kind: kindPackage, name: "b", count: 7, code: 4},
		{kind: kindPackage, name: "cmd/sluice", count: 5, code: 3},
	}, figures)
}

func TestMeasureSaysWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct{ file, text, want string }{
		"no module":          {"go.mod", "go 1.26\n", "no module line"},
		"no Go":              {"b/b.go", "packag b", "b.go:1:1"},
		"a package too few":  {"b/b.go", "package b\n\nimport _ \"small/gone\"\n", "small/gone"},
		"a foreign contract": {"b/b.go", "package b\n\nimport \"example.com/x\"\n\ntype Port[X any] interface{ x.Y }\n", "embedded interface x.Y: it is neither"},
		"an unknown name":    {"b/b.go", "package b\n\nimport \"io\"\n\ntype Port[X any] interface{ io.Nothing }\n", "io.Nothing: not declared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := small()
			files[change.file] = change.text
			_, err := measure(write(t, files))
			require.ErrorContains(t, err, change.want)
		})
	}
	_, err := measure(t.TempDir())
	require.ErrorContains(t, err, "at the root of the repository")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	figures := []figure{
		{kind: kindType, name: "a.Large", count: 41},
		{kind: kindType, name: "a.Full", count: 40},
		{kind: kindType, name: "sessions.Session", count: 60},
		{kind: kindInterface, name: "a.Port", count: 13},
		{kind: kindPackage, name: "a", count: 3001},
		{kind: kindPackage, name: "adapters/x", count: 9000},
	}
	for name, test := range map[string]struct {
		over []entry
		want []string
	}{
		"all listed": {[]entry{{kindType, "a.Large", 50}, {kindInterface, "a.Port", 13}, {kindPackage, "a", 3001}}, nil},
		"none listed": {nil, []string{
			"interface a.Port has 13 methods, the limit is 12: split it",
			"package a has 3001 lines, the limit is 3000: split it",
			"type a.Large has 41 methods, the limit is 40: split it",
		}},
		"grown, mended and gone": {
			[]entry{{kindType, "a.Large", 50}, {kindInterface, "a.Port", 13}, {kindPackage, "a", 3000}, {kindType, "a.Full", 44}, {kindType, "a.Gone", 44}},
			[]string{
				"package a grew from 3000 to 3001 lines, and its limit is 3000: split it",
				"type a.Full is within its limit now: run go run ./internal/structure -update",
				"type a.Gone is listed in internal/structure/over.txt and does not exist: run go run ./internal/structure -update",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, check(figures, test.over))
		})
	}
}

func TestUpdateOnlyLowers(t *testing.T) {
	t.Parallel()
	files := small()
	files[overFile] = "# kept\n\ntype a.T 90\ntype a.Gone 50\n"
	root := write(t, files)
	var out bytes.Buffer
	require.NoError(t, run(root, false, &out))
	require.Contains(t, out.String(), "type a.T is within its limit now")
	require.Regexp(t, `(?m)^a +35 +3000 +21 with code`, out.String())
	require.NoError(t, run(root, true, &out))
	text, err := os.ReadFile(filepath.Join(root, overFile))
	require.NoError(t, err)
	require.Equal(t, overHeader, string(text))

	figures := []figure{{kind: kindType, name: "a.A", count: 50}, {kind: kindType, name: "a.B", count: 60}}
	require.Equal(t, []entry{{kindType, "a.A", 50}, {kindType, "a.B", 55}},
		lowered([]entry{{kindType, "a.A", 70}, {kindType, "a.B", 55}, {kindType, "a.C", 45}}, figures))
}

func TestTheListIsRead(t *testing.T) {
	t.Parallel()
	over := []entry{{kindType, "a.T", 41}, {kindPackage, "a", 3001}}
	again, err := parseOver(formatOver(over))
	require.NoError(t, err)
	require.Equal(t, over, again)
	for text, want := range map[string]string{"\ntype a.T\n": ":2: want a kind", "thing a 1": ":1: want a kind", "type a.T x": ":1: the figure"} {
		_, err := parseOver(text)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, run(write(t, small()), false, &bytes.Buffer{}), "over.txt")
}
