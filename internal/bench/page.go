package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sluice/internal/chaos/child"
)

const (
	pageTries = 7
	pageGoal  = "≤ 300 ms"
	// watch is a script that runs before the scripts of the page. It notes when the navigation is there, with links that work, and
	// when the view is there, in milliseconds after the request of the page. seen is a promise of both times and the bytes loaded.
	watch = `window.seen = new Promise((done) => {
		let frame = 0;
		const look = () => {
			if (!frame && document.querySelector("nav a[href]")) frame = performance.now();
			if (!frame || !document.querySelector(%q)) return;
			watcher.disconnect();
			const view = performance.now();
			const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource").filter((r) => !r.name.includes("/v1/"))];
			done([frame, view, all.reduce((sum, r) => sum + r.transferSize, 0)]);
		};
		const watcher = new MutationObserver(look);
		watcher.observe(document, { childList: true, subtree: true });
	})`
	// empty is a page whose one module draws one link: the time that it takes is the browser's own.
	empty = `<!doctype html><title>empty</title><script type="module" async src="/m.js"></script>`
	link  = `document.body.innerHTML = "<nav><a href='/'>link</a></nav>"`
)

// measurePage measures the console in a browser that has nothing in its cache: the first view, and the longest list.
func (b *bench) measurePage(ctx context.Context, g *gateway, name string) error {
	path := ""
	for _, program := range []string{"chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"} {
		if found, err := exec.LookPath(program); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		fmt.Fprintln(os.Stderr, "no browser: the page is not measured")
		return nil
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	allocator, end := chromedp.NewExecAllocator(ctx, options...)
	defer end()
	window, closeWindow := chromedp.NewContext(allocator)
	defer closeWindow()
	if err := chromedp.Do(window); err != nil {
		return fmt.Errorf("start the browser: %w", err)
	}
	floor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/m.js" {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, link)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, empty)
	}))
	defer floor.Close()
	floors, err := loads(window, floor.URL, "nav")
	if err != nil {
		return fmt.Errorf("load an empty page: %w", err)
	}
	name += "page in a new browser: "
	b.report.add(name+"an empty page (the browser's own time)", "", milliseconds, floors.view)
	for _, view := range []struct{ name, path, drawn string }{
		{"the overview", "/overview", "#main h2"},
		{"the list of deliveries", "/deliveries", ".grid [role=row]:nth-child(3)"},
	} {
		got, err := loads(window, "http://"+g.config.Listen+view.path+"#token="+child.APIToken, view.drawn)
		if err != nil {
			return fmt.Errorf("load %s: %w", view.path, err)
		}
		b.report.add(name+"until the navigation works, at "+view.name, pageGoal, milliseconds, got.frame)
		b.report.add(name+"until "+view.name+" is there", pageGoal, milliseconds, got.view)
		b.report.add(name+"loaded for "+view.name, "≤ 150 kB", func(v float64) string { return fmt.Sprintf("%.0f kB", v) }, got.size/1000)
	}
	return nil
}

// pageTimes are the results of the loads of one address: the medians of two times in milliseconds, and the most bytes.
type pageTimes struct{ frame, view, size float64 }

// loads opens an address several times, each time with an empty cache. drawn selects what shows that the view is there.
func loads(window context.Context, address, drawn string) (pageTimes, error) {
	var frames, views, sizes []float64
	for range pageTries {
		got, err := load(window, address, drawn)
		if err != nil {
			return pageTimes{}, err
		}
		frames, views, sizes = append(frames, got[0]), append(views, got[1]), append(sizes, got[2])
	}
	slices.Sort(frames)
	slices.Sort(views)
	return pageTimes{frames[pageTries/2], views[pageTries/2], slices.Max(sizes)}, nil
}

func load(window context.Context, address, drawn string) ([]float64, error) {
	tab, closeTab := chromedp.NewContext(window, chromedp.WithNewBrowserContext())
	defer closeTab()
	source := fmt.Sprintf(watch, drawn)
	if _, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source}); err != nil {
		return nil, err
	}
	if err := chromedp.Do(tab, chromedp.Navigate(address)); err != nil {
		return nil, err
	}
	got, err := chromedp.Run(tab, chromedp.Evaluate[[]float64]("seen", chromedp.EvalAwaitPromise))
	if err != nil || len(got) != 3 {
		return nil, fmt.Errorf("measure the page: %v %w", got, err)
	}
	return got, nil
}
