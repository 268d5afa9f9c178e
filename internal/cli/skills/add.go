package skills

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

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	"sluice/internal/skill"
)

// downloadTimeout bounds a download.
const downloadTimeout = 2 * time.Minute

// fetched is a skill as "add" sends it to the gateway.
type fetched struct {
	archive []byte
	source  string
	remote  bool
}

func (d Deps) add() *cobra.Command {
	var f struct {
		agent, sha256, level string
		replace, trust, json bool
	}
	cmd := &cobra.Command{
		Use: "add FOLDER|FILE|URL", Short: "Add a skill from a folder, a ZIP or tar file, or a URL", Args: command.Args(1, 1),
		Long: `Add a skill from a folder, a ZIP or tar file, or a URL. Its content is pinned: when it
changes, agents can't use the skill until you trust it or add it again.

A skill from a URL needs --sha256, or a signature with a key of skills.keys in the
configuration. A skill is untrusted unless you say --trust, or "sluice skills trust".`,
		RunE: d.Run(func(ctx context.Context, args []string) error {
			from, err := d.fetch(ctx, args[0])
			if err != nil {
				return err
			}
			body := map[string]any{"archive": from.archive, "source": from.source, "remote": from.remote, "replace": f.replace, "trust": f.trust}
			for name, value := range map[string]string{"agent": f.agent, "sha256": strings.ToLower(strings.TrimPrefix(f.sha256, "sha256:")), "classification": strings.ToUpper(f.level)} {
				if value != "" {
					body[name] = value
				}
			}
			r, answer, err := call[record](ctx, d, api.Request{Method: http.MethodPost, Path: "/v1/skills", Body: body})
			if err != nil {
				return err
			}
			return d.done(f.json, answer, "%s: added for agent %s, %s, level %s, pinned to %s", terminal.Line(r.Name), r.Agent, r.Trust, r.Level, r.Digest)
		}),
	}
	agentFlag(cmd, &f.agent, "the default agent")
	command.JSON(cmd, &f.json)
	cmd.Flags().StringVar(&f.sha256, "sha256", "", "`hash` that the file, or the skill's content, must have")
	cmd.Flags().StringVar(&f.level, "classification", "", "`level` of the skill: sessions below it don't see it (default: that of the agent's workspace)")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace the agent's skill of the same name")
	cmd.Flags().BoolVar(&f.trust, "trust", false, "trust this content: its instructions count as yours")
	return cmd
}

// fetch reads what is to be added.
func (d Deps) fetch(ctx context.Context, from string) (fetched, error) {
	if u, err := url.Parse(from); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		archive, err := d.download(ctx, u)
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return fetched{archive, u.String(), true}, err
	}
	info, err := os.Stat(from)
	if err != nil {
		return fetched{}, fmt.Errorf("read skill: %w", err)
	}
	path, err := filepath.Abs(from)
	if err == nil {
		path, err = filepath.EvalSymlinks(path) // where it comes from, not what leads there
	}
	if err != nil {
		return fetched{}, fmt.Errorf("read skill: %w", err)
	}
	if info.IsDir() {
		archive, err := skill.Pack(from)
		return fetched{archive, path, false}, err
	}
	if info.Size() > skill.ArchiveMax {
		return fetched{}, fmt.Errorf("%s has more than %d bytes", from, skill.ArchiveMax)
	}
	archive, err := os.ReadFile(from)
	return fetched{archive, path, false}, err
}

// secure reports whether nobody on the way can change what comes from an address.
func secure(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// redirectsMax is how often a download may be sent elsewhere.
const redirectsMax = 5

func (d Deps) download(ctx context.Context, u *url.URL) ([]byte, error) {
	if !secure(u) {
		return nil, errors.New("a skill is downloaded over https only")
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("download skill: %w", err)
	}
	client := *d.HTTP
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) > redirectsMax || !secure(req.URL) {
			return errors.New("it redirects to an address that is not https, or too many times")
		}
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("download skill: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("download skill: %s answered with %s", u.Host, resp.Status)
	}
	archive, err := io.ReadAll(io.LimitReader(resp.Body, skill.ArchiveMax+1))
	if err != nil {
		return nil, fmt.Errorf("download skill: %w", err)
	}
	if len(archive) > skill.ArchiveMax {
		return nil, fmt.Errorf("download skill: it has more than %d bytes", skill.ArchiveMax)
	}
	return archive, nil
}
