package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/config"
)

const probeTimeout = 5 * time.Second

// finding is what doctor says of one part.
type finding struct {
	part string
	text string
	mend string // the one command, or what to do; empty if nothing is wrong
	note bool   // worth knowing, not wrong
}

func sound(part, text string) finding { return finding{part: part, text: text} }

func wrong(part, text, mend string) finding { return finding{part: part, text: text, mend: mend} }

// doctor looks at one part after the other.
type doctor struct {
	*app
	cfg      *config.Config
	path     string // of the configuration; empty for none
	findings []finding
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Say for each part that it is well, or what is wrong and how to mend it", Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			d := &doctor{app: a}
			d.examine(ctx)
			return d.report()
		}),
	}
}

func (d *doctor) add(f ...finding) { d.findings = append(d.findings, f...) }

func (d *doctor) examine(ctx context.Context) {
	d.add(sound("version", d.Version))
	if !d.config() {
		return // the other parts stand in the configuration
	}
	d.state()
	d.token()
	running := d.gateway(ctx)
	if running {
		d.running(ctx)
	} else {
		d.stopped(ctx)
	}
	d.advise()
	d.accounts(ctx)
	d.shared(ctx, running)
	d.sandbox(ctx)
}

// report prints the findings; the error says that something is wrong.
func (d *doctor) report() error {
	bad := 0
	for _, f := range d.findings {
		mark := "ok   "
		switch {
		case f.note:
			mark = "note "
		case f.mend != "":
			mark = "WRONG"
			bad++
		}
		fmt.Fprintf(d.Stdout, "%s  %-18s %s\n", mark, f.part, safe(strings.ReplaceAll(f.text, "\n", "\n"+strings.Repeat(" ", 26))))
		if f.mend != "" {
			fmt.Fprintf(d.Stdout, "       %-18s do: %s\n", "", f.mend)
		}
	}
	if bad > 0 {
		fmt.Fprintf(d.Stdout, "\n%s wrong.\n", plural(bad, "thing is", "things are"))
		return errReported
	}
	fmt.Fprintln(d.Stdout, "\nAll is well.")
	return nil
}

func (d *doctor) config() bool {
	path, err := d.Loader.Find(d.configPath)
	if err != nil {
		d.add(wrong("config", err.Error(), "sluice init --config "+d.configPath))
		return false
	}
	d.path = path
	if d.cfg, err = d.Loader.Load(path); err != nil {
		d.add(wrong("config", err.Error(), "sluice config check "+path+" (after each change)"))
		return false
	}
	switch open, mode := othersMayRead(path); {
	case path == "":
		d.add(finding{part: "config", text: "no file: the defaults are used", mend: "sluice init", note: true})
	case open && holdsSecrets(path, d.cfg):
		d.add(wrong("config", fmt.Sprintf("%s holds secrets and others may read it (mode %04o)", path, mode), "chmod 600 "+path))
	default:
		d.add(sound("config", path))
	}
	return true
}

// holdsSecrets reports whether a configuration's file itself holds a secret, and not only references.
func holdsSecrets(path string, cfg *config.Config) bool {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return false // it was read a moment ago
	}
	secrets := cfg.Secrets()
	for _, s := range secrets {
		if s != "" && strings.Contains(string(text), s.Reveal()) {
			return true
		}
	}
	return false
}

func (d *doctor) state() {
	dir := d.cfg.State
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.add(d.stateToBe(dir))
		return
	case err != nil:
		d.add(wrong("state", err.Error(), "ls -ld "+dir))
		return
	case !info.IsDir():
		d.add(wrong("state", dir+" is not a folder", "mv "+dir+" "+dir+".old"))
		return
	}
	if err := writable(dir); err != nil {
		d.add(wrong("state", fmt.Sprintf("%s cannot be written: %s", dir, cause(err)), "sudo chown -R $(id -un) "+dir))
		return
	}
	if info.Mode().Perm()&0o077 != 0 {
		d.add(wrong("state", fmt.Sprintf("others may look into %s (mode %04o)", dir, info.Mode().Perm()), "chmod 700 "+dir))
		return
	}
	d.add(sound("state", dir))
}

// stateToBe says whether the folder could be made: the nearest folder above it that is there must be writable.
func (*doctor) stateToBe(dir string) finding {
	above := filepath.Dir(dir)
	for {
		info, err := os.Stat(above)
		if err == nil && !info.IsDir() {
			return wrong("state", above+" is not a folder", "mv "+above+" "+above+".old")
		}
		if err == nil {
			break
		}
		above = filepath.Dir(above)
	}
	if err := writable(above); err != nil {
		return wrong("state", fmt.Sprintf("%s cannot be made: %s", dir, cause(err)), fmt.Sprintf("sudo install -d -m 700 -o $(id -un) %s", dir))
	}
	return sound("state", dir+" (made at the first start)")
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (d *doctor) token() {
	if d.cfg.Gateway.Token != "" {
		d.add(sound("token", "in the configuration"))
		return
	}
	path := tokenPath(d.cfg)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.add(sound("token", path+" (made at the first start)"))
	case err != nil:
		d.add(wrong("token", err.Error(), "ls -l "+path))
	case info.Mode().Perm()&0o077 != 0:
		d.add(wrong("token", fmt.Sprintf("others may read %s (mode %04o)", path, info.Mode().Perm()), "chmod 600 "+path))
	default:
		d.add(sound("token", path))
	}
}

// gateway reports whether one answers.
func (d *doctor) gateway(ctx context.Context) bool {
	base, _ := d.Loader.Getenv(EnvURL)
	base = strings.TrimSuffix(orText(base, "http://"+dialAddress(d.cfg.Gateway.Listen)), "/")
	status, _, err := d.fetch(ctx, base+"/healthz", "")
	switch {
	case err == nil && status == http.StatusOK:
		d.add(sound("gateway", "running at "+base))
		return true
	case err == nil:
		d.add(wrong("gateway", fmt.Sprintf("something else answers at %s (%d %s)", base, status, http.StatusText(status)), "sluice serve --listen 127.0.0.1:8485"))
		return false
	}
	d.add(finding{part: "gateway", text: "not running at " + base, mend: "sluice serve", note: true}, d.port(ctx))
	return false
}

// port says whether a gateway could listen.
func (d *doctor) port(ctx context.Context) finding {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", d.cfg.Gateway.Listen)
	if err != nil {
		return wrong("port", fmt.Sprintf("cannot listen on %s: %s", d.cfg.Gateway.Listen, listenCause(err)), "sluice serve --listen 127.0.0.1:8485")
	}
	if err := listener.Close(); err != nil {
		return wrong("port", err.Error(), "sluice serve")
	}
	return sound("port", d.cfg.Gateway.Listen+" is free")
}

func listenCause(err error) error {
	var s *os.SyscallError
	if errors.As(err, &s) {
		return s.Err
	}
	return err
}

// running asks the gateway itself how its parts do.
func (d *doctor) running(ctx context.Context) {
	c, err := d.client()
	if err != nil {
		d.add(wrong("api", err.Error(), "export "+EnvToken+"=…"))
		return
	}
	status, body, err := d.fetch(ctx, c.base+"/readyz", c.token)
	if err != nil {
		d.add(wrong("ready", err.Error(), "sluice status"))
	} else {
		d.add(ready(status, body)...)
	}
	if _, err := c.call(ctx, request{path: "/v1/status"}); err != nil {
		d.add(wrong("api", err.Error(), "export "+EnvToken+"=$(cat "+tokenPath(d.cfg)+")"))
		return
	}
	d.add(sound("api", "the token is known"))
}

// stopped looks at what a gateway would need.
func (d *doctor) stopped(ctx context.Context) {
	if store := d.cfg.Store.URL.Reveal(); store == "" {
		d.add(sound("store", "embedded SQLite in the state folder"))
	} else {
		d.add(d.reach(ctx, "store", store, "5432", "pg_isready -d \"$DATABASE\" (is PostgreSQL running?)"))
	}
	if d.cfg.Bus.URL == "" {
		d.add(sound("bus", "embedded NATS"))
	} else {
		for address := range strings.SplitSeq(d.cfg.Bus.URL.Reveal(), ",") {
			d.add(d.reach(ctx, "bus", strings.TrimSpace(address), "4222", "start NATS there, or correct bus.url"))
		}
	}
	d.model(ctx)
	d.mcp(ctx)
}

// model looks at the provider of the default agent's model.
func (d *doctor) model(ctx context.Context) {
	ref := d.cfg.DefaultAgent().Model
	name, _, _ := strings.Cut(ref, "/")
	provider, ok := d.cfg.Models.Providers[name]
	if !ok {
		d.add(sound("model", ref+" (a demonstration; sluice init names a real one)"))
		return
	}
	base := provider.BaseURL
	if base == "" {
		base = map[string]string{"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}[provider.Kind]
	}
	f := d.reach(ctx, "model", base, "443", "start the model server, or correct models.providers."+name+".baseURL")
	f.text = ref + " " + f.text
	d.add(f)
}

// reach says whether something listens at an address.
func (*doctor) reach(ctx context.Context, part, address, port, mend string) finding {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return wrong(part, "its address cannot be read", "sluice config check")
	}
	if p := u.Port(); p != "" {
		port = p
	} else if u.Scheme == "http" {
		port = "80"
	}
	host := net.JoinHostPort(u.Hostname(), port)
	conn, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "tcp", host)
	if err != nil {
		return wrong(part, "cannot be reached at "+host, mend)
	}
	if err := conn.Close(); err != nil {
		return wrong(part, err.Error(), mend)
	}
	return sound(part, "reachable at "+host)
}

// fetch gets an address; the error never holds the address, which may have a token in it.
func (d *doctor) fetch(ctx context.Context, address, token string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, errors.New("its address cannot be read")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return 0, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	return resp.StatusCode, body, err
}
