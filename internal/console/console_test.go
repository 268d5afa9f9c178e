package console_test

import (
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/console"
)

// The libraries are what was published: each has its checksum and its licence, and nothing else lies beside them.
func TestLibrariesAreAsPublished(t *testing.T) {
	t.Parallel()
	for folder, n := range map[string]int{"base/lib": 6, "page/lib": 5} {
		sums, err := os.ReadFile(filepath.Clean(folder + "/SHA256SUMS"))
		require.NoError(t, err)
		want := map[string]string{}
		for line := range strings.Lines(string(sums)) {
			fields := strings.Fields(line)
			require.Len(t, fields, 2, line)
			want[fields[1]] = fields[0]
		}
		require.Len(t, want, n)
		files, err := filepath.Glob(folder + "/*")
		require.NoError(t, err)
		for _, file := range files {
			name := filepath.Base(file)
			if name == "SHA256SUMS" || name == "README.md" {
				continue
			}
			content, err := os.ReadFile(filepath.Clean(file))
			require.NoError(t, err)
			sum := sha256.Sum256(content)
			require.Equal(t, want[name], hex.EncodeToString(sum[:]), name)
			delete(want, name)
			if base, ok := strings.CutSuffix(name, ".mjs"); ok { // and its licence with it
				require.FileExists(t, folder+"/"+base+".LICENSE")
			}
		}
		require.Empty(t, want, "files that are gone")
	}
}

// Browsers run a module only if it is served as JavaScript.
func TestModulesAreServedAsJavaScript(t *testing.T) {
	t.Parallel()
	page := console.Handler(true)
	for _, path := range []string{"/base.js", "/views/overview.js", "/lib/markdown-it.mjs"} {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Header().Get("Content-Type"), "text/javascript")
	}
}

func get(path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	console.Handler(true).ServeHTTP(w, r)
	return w
}

// Each view has an address, which can be sent to somebody; what is neither a file nor a view is not found.
func TestAddressesOfViewsAnswerWithThePage(t *testing.T) {
	t.Parallel()
	views, err := filepath.Glob("page/views/*.js")
	require.NoError(t, err)
	require.Greater(t, len(views), 10)
	shell, err := os.ReadFile("base/shell.js")
	require.NoError(t, err)
	for _, file := range views {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		require.Contains(t, string(shell), `"`+name+`"`, "the rail shows each view")
		for _, path := range []string{"/" + name, "/" + name + "/an%2Fid", "/" + name + "/id?status=held"} {
			w := get(path)
			require.Equal(t, http.StatusOK, w.Code, path)
			require.Contains(t, w.Body.String(), `<div id="app">`, path)
		}
	}
	require.Equal(t, http.StatusOK, get("/").Code)
	for _, path := range []string{"/nothing", "/views/", "/views/nothing.js", "/lib/README.md", "/api.js", "/base/api.js", "/page/index.html", "/../console.go"} {
		require.Equal(t, http.StatusNotFound, get(path).Code, path)
	}
	w := httptest.NewRecorder()
	console.Handler(false).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	require.Equal(t, http.StatusNotFound, w.Code, "the page is off")
}

// Only the page's own modules run; no text may become markup or code, and no script or style stands in the page.
func TestThePolicyOfThePage(t *testing.T) {
	t.Parallel()
	w := get("/overview")
	policy := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"} {
		require.Contains(t, policy, part)
	}
	require.NotContains(t, policy, "unsafe")
	require.NotRegexp(t, `<script[^>]*>[^<]|\sstyle=|\son\w+="`, w.Body.String())
}

func TestFilesAreCompressedAndKnownAgain(t *testing.T) {
	t.Parallel()
	plain, packed := get("/style.css"), get("/style.css", "Accept-Encoding", "br, gzip;q=0.8")
	require.Equal(t, "gzip", packed.Header().Get("Content-Encoding"))
	require.Less(t, packed.Body.Len(), plain.Body.Len()/2)
	unpacked, err := gzip.NewReader(packed.Body)
	require.NoError(t, err)
	content, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	require.Equal(t, plain.Body.String(), string(content))
	require.Empty(t, get("/style.css", "Accept-Encoding", "gzip;q=0").Header().Get("Content-Encoding"))
	again := get("/style.css", "If-None-Match", plain.Header().Get("ETag"))
	require.Equal(t, http.StatusNotModified, again.Code)
	require.Zero(t, again.Body.Len())
}

const firstLoadMax = 150 << 10 // bytes

var imported = regexp.MustCompile(`(?m)^(?:import|export)[^;]*?from "([^"]+)"`)

// loads are the files that a module needs before it runs.
func loads(t *testing.T, address string, known map[string]bool) {
	t.Helper()
	if known[address] {
		return
	}
	known[address] = true
	content := get(address)
	require.Equal(t, http.StatusOK, content.Code, address)
	for _, m := range imported.FindAllStringSubmatch(content.Body.String(), -1) {
		loads(t, path.Join(path.Dir(address), m[1]), known)
	}
}

// What every view builds on is one module, and it is made of the modules that are there.
func TestTheBaseIsCurrent(t *testing.T) {
	t.Parallel()
	sum := sha256.New()
	require.NoError(t, filepath.WalkDir("base", func(name string, d fs.DirEntry, err error) error { // as tools/pagebase does
		if err != nil || filepath.Ext(name) != ".js" && filepath.Ext(name) != ".mjs" {
			return err
		}
		content, err := os.ReadFile(filepath.Clean(name))
		fmt.Fprintf(sum, "%s %d\n%s", strings.TrimPrefix(filepath.ToSlash(name), "base/"), len(content), content)
		return err
	}))
	require.Contains(t, get("/base.js").Body.String(), fmt.Sprintf("(%x)", sum.Sum(nil)), "run go generate ./internal/console")
	known := map[string]bool{}
	loads(t, "/base.js", known)
	require.Len(t, known, 1)
}

// Each module of the page finds what it imports, also those that are read later.
func TestModulesFindTheirImports(t *testing.T) {
	t.Parallel()
	for name := range scripts(t) {
		if address, ok := strings.CutPrefix(name, "page"); ok {
			loads(t, address, map[string]bool{})
		}
	}
}

// What the first view needs is small.
func TestTheFirstLoadIsSmall(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	loads(t, "/base.js", known)
	for _, view := range []string{"overview", "conversations"} {
		all := maps.Clone(known)
		loads(t, "/views/"+view+".js", all)
		for _, more := range []string{"/", "/style.css", "/icon.svg", "/text/de.js"} {
			all[more] = true
		}
		if view == "conversations" {
			loads(t, "/ui/markdown.js", all)
		}
		total := 0
		for address := range all {
			total += get(address, "Accept-Encoding", "gzip").Body.Len()
		}
		t.Logf("%s: %d files, %d bytes", view, len(all), total)
		require.Less(t, total, firstLoadMax, view)
	}
}

// A browser learns with the page which modules the view needs, and which texts, so that it does not find them one by one.
func TestThePageNamesTheModulesOfItsView(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"/base.js": true}
	for path, texts := range map[string]string{"/": "/text/en.js", "/deliveries/dlv_1": "/text/de.js"} {
		view, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		all := maps.Clone(known)
		loads(t, "/views/"+cmp.Or(view, "overview")+".js", all)
		want := []string{"/base.js", texts}
		for module := range all {
			if !known[module] {
				want = append(want, module)
			}
		}
		var got []string
		for link := range strings.SplitSeq(get(path, "Accept-Language", map[string]string{"/text/en.js": "fr, en;q=0.5", "/text/de.js": "de-AT,en"}[texts]).Header().Get("Link"), ", ") {
			address, ok := strings.CutSuffix(link, ">; rel=modulepreload")
			require.True(t, ok, link)
			got = append(got, strings.TrimPrefix(address, "<"))
		}
		require.ElementsMatch(t, want, got, path)
		require.Equal(t, want[0], got[0], "what makes the first requests comes first")
	}
	require.Empty(t, get("/base.js").Header().Get("Link"))
}

var (
	checkRow = regexp.MustCompile(`(?m)^\| (\d+) \|.*\| ([^|]+) \|$`)
	testName = regexp.MustCompile("`(Test\\w+)`")
)

// Each check in the documentation names how it is shown, and the tests that it names exist.
func TestEachCheckHasATest(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/console/checks.md")
	require.NoError(t, err)
	var tests strings.Builder
	for _, folder := range []string{".", "../app", "../httpapi", "../../router"} {
		files, err := filepath.Glob(folder + "/*_test.go")
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(filepath.Clean(file))
			require.NoError(t, err)
			tests.Write(text)
		}
	}
	rows := checkRow.FindAllStringSubmatch(string(doc), -1)
	require.Len(t, rows, 40)
	for i, row := range rows {
		require.Equal(t, strconv.Itoa(i+1), row[1])
		names := testName.FindAllStringSubmatch(row[2], -1)
		require.True(t, len(names) > 0 || strings.Contains(row[2], "make bench"), row[0])
		for _, name := range names {
			require.Contains(t, tests.String(), "func "+name[1]+"(", row[0])
		}
	}
}
