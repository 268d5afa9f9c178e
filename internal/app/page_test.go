package app_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser is a real browser that looks at a gateway's page.
type browser struct {
	t     *testing.T
	ctx   context.Context
	close func() // done by the test's end at the latest
}

// newBrowser opens a tab with a profile of its own. In CI there must be a browser.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	// The one without windows of its own has the same engine and takes two thirds of the processor time.
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no browser: install the package chromium")
		}
		t.Skip("no browser")
	}
	ctx, closeTab := chromedp.NewContext(chromium.use(t, path), chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	b := &browser{t: t, ctx: ctx, close: closeTab}
	b.do(chromedp.EmulateViewport(1200, 800)) // the first call opens the tab and has no deadline
	return b
}

// process is the browser of all tests: one, because each start costs seconds of processor time. The first test that
// needs it starts it, and it runs until all tests are over.
type process struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop func()
}

var chromium process

func (p *process) use(t *testing.T, path string) context.Context {
	t.Helper()
	p.once.Do(func() { p.start(path) })
	require.NoError(t, p.err, "start the browser")
	return p.ctx
}

func (p *process) start(path string) {
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		p.err = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(profile),
		// Each window would load two pages of Chromium's own for its address bar, which nobody types into.
		chromedp.Flag("disable-features", "Translate,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,AimEnabled"),
		// Without V8's optimizing compilers, the tests that look at all views take less processor time.
		chromedp.Flag("js-flags", "--no-opt --no-maglev"))
	all, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(all)
	p.ctx, p.stop = ctx, func() {
		closeTab()
		end()
		_ = os.RemoveAll(profile) // a process of the browser may still write to it
	}
	p.err = chromedp.Do(ctx)
}

// browsing are tests after which the browser ends.
type browsing struct{ *testing.M }

func (m browsing) Run() int {
	defer func() {
		if chromium.stop != nil {
			chromium.stop()
		}
	}()
	return m.M.Run()
}

// page opens the main conversation in the gateway's page, as its owner does.
func (g *gateway) page() *browser {
	g.t.Helper()
	b := newBrowser(g.t)
	b.open(g.url("/conversations/main#token=" + g.Token()))
	b.state("connected")
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// left are the errors of a page that is left while something waits in it.
var left = regexp.MustCompile(`Not attached to an active page|Inspected target navigated|Execution context was destroyed|Cannot find context`)

// until waits in the page until a JavaScript condition holds, also if it goes to another address meanwhile.
func (b *browser) until(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	wait := fmt.Sprintf(`new Promise((done) => { const look = () => (%s) ? done(true) : setTimeout(look, 20); look(); })`, condition)
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
	for err != nil && ctx.Err() == nil && left.MatchString(err.Error()) {
		_, err = chromedp.Run(ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
	}
	if err != nil {
		b.picture("failed")
		require.NoError(b.t, err, "%s\nlog: %s", condition, b.log())
	}
}

func (b *browser) shows(text string) {
	b.t.Helper()
	b.until(`document.getElementById("log")?.innerText.includes(` + strconv.Quote(text) + `)`)
}

func (b *browser) state(text string) {
	b.t.Helper()
	b.until(`document.getElementById("state")?.innerText.includes(` + strconv.Quote(text) + `)`)
}

func (b *browser) log() string {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.getElementById("log")?.innerText ?? document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// says types a message and sends it.
func (b *browser) says(text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS("#text"), text), chromedp.Click(chromedp.CSS("#send")))
}

// click clicks on an element once it stands still: while a page is drawn, what is clicked on may move away from under the mouse.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.until(`(() => {
		const at = JSON.stringify(document.querySelector(` + quoted(selector) + `)?.getBoundingClientRect() ?? null);
		const still = at !== "null" && at === window.stood;
		window.stood = at;
		return still;
	})()`)
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// picture keeps a screenshot where SLUICE_SCREENSHOTS says so.
func (b *browser) picture(name string) {
	dir := os.Getenv("SLUICE_SCREENSHOTS")
	if dir == "" {
		return
	}
	image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), image, 0o600))
}

func TestPage(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/guide }\n")
	b := g.page()
	b.picture("empty")
	b.says("What can you do?")
	b.shows("offline guide")
	b.says("list sessions")
	b.shows("main – webchat") // the session itself: the agent's own main session
	b.shows("sessions_list")
	b.says("/help")
	b.shows("start a new session")
	b.says("repeat <img src=x onerror=alert(1)> **bold**")
	b.shows("<img src=x onerror=alert(1)> bold")
	b.picture("chat")
	address, err := chromedp.Run(b.ctx, chromedp.Location())
	require.NoError(t, err)
	require.NotContains(t, address, "token", "the token does not stay in the address")

	b.do(chromedp.Reload())
	b.state("connected")
	b.shows("offline guide")
	b.shows("start a new session")
	b.shows("sessions_list")
	entries, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](`document.querySelectorAll("#log .entry").length`))
	require.NoError(t, err)
	require.Equal(t, 8, entries, "after a reload all is there once: %s", b.log())

	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2)))
	b.picture("phone")
	b.says("/new")
	b.shows("No messages yet")
	b.picture("phone-new")
}

// A conversation that knows more than the page may show can still be spoken to there, is told why nothing else is shown, and can start a new session.
func TestPageOfAConversationAboveIt(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	b := g.page()
	b.says("/raise CONFIDENTIAL")
	b.shows("My replies can then be withheld")
	b.do(chromedp.Reload())
	b.state("withheld")
	b.shows("Its history and replies are withheld here")
	b.says("a word")
	b.shows("I have a reply, but I am not allowed to send it in this conversation")
	b.shows("or start a new session with /new")
	require.NotContains(t, b.log(), "echo")
	b.says("/status")
	b.shows("learned: CONFIDENTIAL")
	b.picture("above")
	b.says("/new")
	b.state("connected")
	b.says("hello")
	b.shows("echo: hello")
}

// While the gateway is unavailable a message waits with a button; once it is back the same message is sent, once.
func TestPageSurvivesARestart(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	b := g.page()
	b.says("before")
	b.shows("echo: before")
	g.cfg.Gateway.Listen = g.Addr().String()
	g.end()
	b.state("connecti") // reconnecting, or no connection
	b.says("meanwhile")
	b.shows("Not sent")
	b.picture("away")
	g.begin()
	b.state("connected")
	b.click("#log .under button")
	b.shows("echo: meanwhile")
	require.NotContains(t, b.log(), "Not sent")
}

// A slow answer shows that it is worked on, also after a reload, and can be stopped.
func TestPageShowsWorkAndStops(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/slow-1h }\n")
	b := g.page()
	b.says("think")
	b.until(`document.querySelector(".thinking")`)
	b.state("working")
	b.picture("thinking")
	b.do(chromedp.Reload())
	b.until(`document.querySelector(".thinking")`)
	b.click("#stop")
	b.shows("Stopped.")
	b.until(`document.getElementById("stop").hidden`)
	b.picture("stopped")
}

func TestPageAsksForTheToken(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	b := newBrowser(t)
	b.open(g.url("/conversations/main"))
	b.until(`document.getElementById("ask")?.open`)
	b.picture("token")
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), g.Token()), chromedp.Click(chromedp.CSS("#ask button")))
	b.state("connected")
}
