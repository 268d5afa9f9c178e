// Package console serves the operator's console: a page that shows and steers everything that the HTTP API knows, and chats
// with the agents. It is plain HTML, CSS and JavaScript, embedded in the binary: what is under page/ is served as it is. It stores no
// data: what it shows comes from the API, with the caller's token.
//
// Every view builds on the modules of base/. A browser reads these as one file, page/base.js, which go generate makes.
//
// Each file of page/views is a view, and the views' names are the first parts of their addresses (/deliveries/dlv_1), which
// all answer with the same page.
package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:generate go -C ../../tools run ./pagebase ../internal/console/base ../internal/console/page/base.js

//go:embed page base/lib/*.LICENSE
var files embed.FS

const (
	shell = "index.html"
	home  = "overview" // the view of the address /
	base  = "/base.js" // what every view builds on

	unreadable = "the page can't be read"

	// csp lets a browser run the page's own modules and nothing else. No text becomes HTML or code (Trusted Types without a policy), and
	// nothing comes from elsewhere.
	csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)

// types are the media types of the page's files. The system's own table may lack some of them.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
}

// Handler serves the page and answers 404 for what is neither a file of it nor the address of a view. If the page is off,
// it serves nothing.
func Handler(on bool) http.Handler {
	p, err := loaded()
	if err != nil || !on {
		return http.NotFoundHandler()
	}
	return p
}

// page are the files of the page by their addresses, and the views.
type page struct {
	files map[string]*file
	views map[string]func() (string, error) // the header Link of each, see [preloads]
}

// loaded is the page of all handlers: the files are part of the program, so each is compressed once.
var loaded = sync.OnceValues(load)

// load reads the names of the embedded files. Their content is read when it is first asked for.
func load() (*page, error) {
	p := &page{files: map[string]*file{}, views: map[string]func() (string, error){}}
	err := fs.WalkDir(files, "page", func(name string, d fs.DirEntry, err error) error {
		address := strings.TrimPrefix(name, "page")
		if kind := types[path.Ext(name)]; err == nil && !d.IsDir() && kind != "" {
			p.files[address] = &file{kind: kind, packed: sync.OnceValues(func() (packed, error) { return pack(name) })}
		}
		if view, ok := strings.CutPrefix(address, "/views/"); ok {
			p.views[strings.TrimSuffix(view, ".js")] = nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the page's files: %w", err)
	}
	for view := range p.views {
		p.views[view] = sync.OnceValues(func() (string, error) { return preloads("/views/" + view + ".js") })
	}
	return p, nil
}

var imported = regexp.MustCompile(`(?m)^(?:import|export) [^;]*?from "([^"]+)"`)

// preloads is a header Link with a module and all that it imports, except the base, which comes before.
func preloads(module string) (string, error) {
	var links []string
	seen := map[string]bool{base: true}
	for waiting := []string{module}; len(waiting) > 0; waiting = waiting[1:] {
		address := waiting[0]
		if seen[address] {
			continue
		}
		seen[address] = true
		links = append(links, preload(address))
		content, err := files.ReadFile("page" + address)
		if err != nil {
			return "", fmt.Errorf("read what %s imports: %w", module, err)
		}
		for _, m := range imported.FindAllSubmatch(content, -1) {
			waiting = append(waiting, path.Join(path.Dir(address), string(m[1])))
		}
	}
	return strings.Join(links, ", "), nil
}

func preload(address string) string { return "<" + address + ">; rel=modulepreload" }

// textsOf is the catalogue in the language that a browser prefers.
func (p *page) textsOf(r *http.Request) string {
	for offer := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		language, _, _ := strings.Cut(strings.TrimSpace(offer), ";")
		language, _, _ = strings.Cut(language, "-")
		if address := "/text/" + strings.ToLower(language) + ".js"; p.files[address] != nil {
			return address
		}
	}
	return "/text/en.js"
}

// ServeHTTP implements [http.Handler].
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	address, links := r.URL.Path, ""
	view, _, _ := strings.Cut(strings.TrimPrefix(address, "/"), "/")
	if modulesOf, ok := p.views[cmp.Or(view, home)]; ok && p.files[address] == nil {
		modules, err := modulesOf()
		if err != nil {
			http.Error(w, unreadable, http.StatusInternalServerError)
			return
		}
		address, links = "/"+shell, preload(base)+", "+preload(p.textsOf(r))+", "+modules
	}
	found := p.files[address]
	if found == nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", csp)
	if links != "" {
		h.Set("Link", links)
	}
	h.Set("Cache-Control", "no-cache") // a new version of the gateway brings a new page
	found.serve(w, r)
}

// file is a file of the page.
type file struct {
	kind   string
	packed func() (packed, error)
}

// packed is a file's content as it is sent.
type packed struct {
	etag  string
	plain []byte
	gzip  []byte
}

func pack(name string) (packed, error) {
	plain, err := files.ReadFile(name)
	if err != nil {
		return packed{}, fmt.Errorf("read %s: %w", name, err)
	}
	sum := sha256.Sum256(plain)
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return packed{}, fmt.Errorf("compress %s: %w", name, err)
	}
	return packed{etag: `"` + hex.EncodeToString(sum[:12]) + `"`, plain: plain, gzip: small.Bytes()}, nil
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	content, err := f.packed()
	if err != nil {
		http.Error(w, unreadable, http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", content.etag)
	if strings.Contains(r.Header.Get("If-None-Match"), content.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := content.plain
	if accepts(r, "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = content.gzip
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the browser has gone
	}
}

// accepts reports whether a request takes an encoding.
func accepts(r *http.Request, encoding string) bool {
	for offer := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, params, err := mime.ParseMediaType(strings.TrimSpace(offer))
		if err == nil && name == encoding && params["q"] != "0" {
			return true
		}
	}
	return false
}
