package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sluice/internal/cli/api"
	"sluice/internal/config"
	"sluice/internal/hostos"
)

// configuration reads the configuration; nil where it can't be used.
func (d *Doctor) configuration() (*config.Config, finding) {
	path, loader, err := d.Locator.Find()
	if err != nil {
		return nil, problem("config", err.Error(), "sluice init --config "+d.Locator.Config)
	}
	cfg, err := loader.Load(path)
	if err != nil {
		if _, unreadable := os.ReadFile(filepath.Clean(path)); errors.Is(unreadable, fs.ErrPermission) {
			return nil, problem("config", err.Error(), "run the command with sudo, or as a user who can read the file")
		}
		return nil, problem("config", err.Error(), "edit it, then run: sluice config check "+path)
	}
	mode, exposed := ExposedSecrets(path, cfg)
	switch {
	case path == "":
		return cfg, note("config", "no configuration file: the defaults are used", "sluice init")
	case exposed:
		return cfg, problem("config", fmt.Sprintf("%s contains secrets and other users can read it (mode %04o)", path, mode), "chmod 600 "+path)
	}
	return cfg, healthy("config", path)
}

// ExposedSecrets reports whether other users of the machine can read secrets in a configuration file. References to
// secrets do not count.
func ExposedSecrets(path string, cfg *config.Config) (mode fs.FileMode, exposed bool) {
	info, err := os.Stat(path)
	if err != nil || !hostos.OthersMayRead(info) {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return 0, false // it was read a moment ago
	}
	for _, s := range cfg.Secrets() {
		if s != "" && strings.Contains(string(text), s.Reveal()) {
			return info.Mode().Perm(), true
		}
	}
	return 0, false
}

// stateFolder checks the folder that holds the database, or whether it can be created.
func stateFolder(dir string) finding {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return futureFolder(dir)
	case err != nil:
		return problem("state", err.Error(), "ls -ld "+dir)
	case !info.IsDir():
		return problem("state", dir+" is not a folder", "mv "+dir+" "+dir+".old")
	}
	if err := writable(dir); err != nil {
		return problem("state", fmt.Sprintf("cannot write to %s: %s", dir, cause(err)), writeFix(err, "sudo chown -R $(id -un) "+dir))
	}
	if hostos.OthersMayRead(info) {
		return problem("state", fmt.Sprintf("other users can read %s (mode %04o)", dir, info.Mode().Perm()), "chmod 700 "+dir)
	}
	return healthy("state", dir)
}

// futureFolder checks whether a folder can be created: the nearest existing folder above must be writable.
func futureFolder(dir string) finding {
	above := filepath.Dir(dir)
	for {
		info, err := os.Stat(above)
		if err == nil && !info.IsDir() {
			return problem("state", above+" is not a folder", "mv "+above+" "+above+".old")
		}
		if err == nil {
			break
		}
		above = filepath.Dir(above)
	}
	if err := writable(above); err != nil {
		return problem("state", fmt.Sprintf("cannot create %s: %s", dir, cause(err)), writeFix(err, "sudo install -d -m 700 -o $(id -un) "+dir))
	}
	return healthy("state", dir+" (will be created at the first start)")
}

// writeFix is what helps against an error of writing to the state folder; permission is the command that gives the right to do so.
func writeFix(err error, permission string) string {
	switch {
	case errors.Is(err, syscall.EROFS):
		return "mount its file system writable, or set state to another folder"
	case errors.Is(err, syscall.ENOSPC):
		return "free space on its disk, or set state to another folder"
	}
	return permission
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// cause is an error of the file system without the path, which is printed beside it.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// tokenFile checks the file with the access token.
func tokenFile(cfg *config.Config) finding {
	if cfg.Gateway.Token != "" {
		return healthy("token", "set in the configuration")
	}
	path := api.TokenPath(cfg)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return healthy("token", path+" (will be created at the first start)")
	case err != nil:
		return problem("token", err.Error(), "ls -l "+path)
	case hostos.OthersMayRead(info):
		return problem("token", fmt.Sprintf("other users can read %s (mode %04o)", path, info.Mode().Perm()), "chmod 600 "+path)
	}
	return healthy("token", path)
}
