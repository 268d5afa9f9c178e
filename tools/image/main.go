// Command image makes a container image from static binaries, without a container engine: an archive for each processor
// that `docker load` and `podman load` take, and a folder in the OCI layout with all of them, which `crane push` and
// `skopeo copy oci:` take.
//
// The image has the program, its licences and nothing else: no shell, no libraries. It runs as a user without rights,
// and its root can be read-only: all state is in the volume /var/lib/sluice.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	user      = 65532 // as distroless images call their user without rights
	state     = "/var/lib/sluice"
	maxPacked = 60 << 20 // bytes of an image as it is sent
)

func main() {
	var m maker
	var seconds int64
	flag.StringVar(&m.out, "out", ".", "the `folder` for the images")
	flag.StringVar(&m.version, "version", "", "the version")
	flag.StringVar(&m.commit, "commit", "", "the commit")
	flag.Int64Var(&seconds, "time", 0, "the time of all files, in `seconds` since 1970")
	flag.Parse()
	m.at = time.Unix(seconds, 0).UTC()
	if err := m.run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// maker makes images.
type maker struct {
	out, version, commit string
	at                   time.Time
}

// run makes the images of arguments such as amd64=folder; the folder has the binary and its licences.
func (m maker) run(args []string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arg := range args {
		arch, dir, found := strings.Cut(arg, "=")
		if !found {
			return fmt.Errorf("%q: want a processor and a folder, such as amd64=dist", arg)
		}
		image, err := m.image(arch, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		tag, err := name.NewTag("sluice:" + m.version)
		if err != nil {
			return err
		}
		if err := tarball.WriteToFile(filepath.Join(m.out, "sluice_"+m.version+"_linux_"+arch+".image.tar"), tag, image); err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform(arch)}})
	}
	dir, err := os.MkdirTemp(m.out, "layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	return m.pack(dir, filepath.Join(m.out, "sluice_"+m.version+".oci.tar"))
}

func platform(arch string) *v1.Platform {
	if arch == "armv7" {
		return &v1.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}
	}
	return &v1.Platform{OS: "linux", Architecture: arch}
}

// image makes the image for one processor.
func (m maker) image(arch, dir string) (v1.Image, error) {
	files, err := m.layer(dir)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	size, err := layer.Size()
	if err != nil {
		return nil, err
	}
	if size > maxPacked {
		return nil, fmt.Errorf("the image has %.1f MB, at most %d are allowed", float64(size)/(1<<20), maxPacked>>20)
	}
	fmt.Printf("image %-8s %6.1f MB packed\n", arch, float64(size)/(1<<20))
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: m.at}, CreatedBy: "make release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	p := platform(arch)
	config.OS, config.Architecture, config.Variant, config.Created = p.OS, p.Architecture, p.Variant, v1.Time{Time: m.at}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), WorkingDir: state,
		Entrypoint: []string{"/usr/bin/sluice"},
		// Other containers and the host reach it. The token that the first start generates is long.
		Cmd: []string{"serve", "--listen", "0.0.0.0:8484"},
		Env: []string{
			"PATH=/usr/bin", "HOME=" + state, "TMPDIR=/tmp", "SLUICE_STATE=" + state,
		},
		ExposedPorts: map[string]struct{}{"8484/tcp": {}}, Volumes: map[string]struct{}{state: {}},
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/sluice", "status", "--ready"}, Interval: 30 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3},
		Labels: map[string]string{
			"org.opencontainers.image.title": "Sluice", "org.opencontainers.image.version": m.version, "org.opencontainers.image.revision": m.commit,
			"org.opencontainers.image.created": m.at.Format(time.RFC3339), "org.opencontainers.image.licenses": "Apache-2.0",
		},
		StopSignal: "SIGTERM",
	}
	return mutate.ConfigFile(image, config)
}

// layer is the only layer of the image: an archive of its files.
func (m maker) layer(dir string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(h tar.Header, data []byte) error {
		h.ModTime, h.Format, h.Size = m.at, tar.FormatPAX, int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	folder := func(name string, mode int64, owner int) error {
		return add(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, Uid: owner, Gid: owner}, nil)
	}
	file := func(name string, mode int64, data []byte) error {
		return add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}, data)
	}
	program, err := os.ReadFile(filepath.Join(dir, "sluice"))
	if err != nil {
		return nil, err
	}
	licences, err := os.ReadFile(filepath.Join(dir, "LICENSES"))
	if err != nil {
		return nil, err
	}
	accounts := fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nsluice:x:%d:%d:Sluice:%s:/sbin/nologin\n", user, user, state)
	groups := fmt.Sprintf("root:x:0:\nsluice:x:%d:\n", user)
	err = errors.Join(
		folder("etc", 0o755, 0), file("etc/group", 0o644, []byte(groups)), file("etc/passwd", 0o644, []byte(accounts)),
		folder("etc/sluice", 0o755, 0),
		folder("tmp", 0o1777, 0),
		folder("usr", 0o755, 0), folder("usr/bin", 0o755, 0), file("usr/bin/sluice", 0o755, program),
		folder("usr/share", 0o755, 0), folder("usr/share/doc", 0o755, 0), folder("usr/share/doc/sluice", 0o755, 0), file("usr/share/doc/sluice/LICENSES", 0o644, licences),
		folder("var", 0o755, 0), folder("var/lib", 0o755, 0), folder("var/lib/sluice", 0o700, user),
		w.Close(),
	)
	return out.Bytes(), err
}

// pack writes a folder in the OCI layout as an archive.
func (m maker) pack(dir, to string) (err error) {
	f, err := os.Create(filepath.Clean(to))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(data)), ModTime: m.at, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	return errors.Join(err, w.Close())
}
