package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/chromedp/chromedp"

	"sluice/internal/chaos/child"
)

const (
	pageTries = 7
	pageGoal  = "≤ 300 ms"
	// drawnAfter is a promise of when a view was there, in milliseconds after the page was asked for, and of the bytes that the page has loaded.
	drawnAfter = `new Promise((done) => {
		const look = () => {
			if (!document.querySelector(".view-title") || !document.querySelector("%s")) return setTimeout(look, 5);
			const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource").filter((r) => !r.name.includes("/v1/"))];
			return done([performance.now(), all.reduce((sum, r) => sum + r.transferSize, 0)]);
		};
		look();
	})`
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
	for _, view := range []struct{ name, path, drawn string }{
		{"the overview", "/overview", "#main h2"},
		{"the list of deliveries", "/deliveries", ".grid [role=row]:nth-child(3)"},
	} {
		var times, sizes []float64
		for range pageTries {
			took, size, err := load(window, "http://"+g.config.Listen+view.path+"#token="+child.APIToken, view.drawn)
			if err != nil {
				return fmt.Errorf("load %s: %w", view.path, err)
			}
			times, sizes = append(times, took), append(sizes, size/1000)
		}
		slices.Sort(times)
		b.report.add(name+"page in a new browser: until "+view.name+" is there", pageGoal, milliseconds, times[len(times)/2])
		b.report.add(name+"page in a new browser: loaded for "+view.name, "≤ 150 kB", func(v float64) string { return fmt.Sprintf("%.0f kB", v) }, slices.Max(sizes))
	}
	return nil
}

// load opens an address with an empty cache.
func load(window context.Context, address, drawn string) (took, size float64, err error) {
	tab, closeTab := chromedp.NewContext(window, chromedp.WithNewBrowserContext())
	defer closeTab()
	if err := chromedp.Do(tab, chromedp.Navigate(address)); err != nil {
		return 0, 0, err
	}
	got, err := chromedp.Run(tab, chromedp.Evaluate[[]float64](fmt.Sprintf(drawnAfter, drawn), chromedp.EvalAwaitPromise))
	if err != nil || len(got) != 2 {
		return 0, 0, fmt.Errorf("measure the page: %v %w", got, err)
	}
	return got[0], got[1], nil
}
