package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"sluice/internal/hostos"
)

// fileMax is how much of each end of a file is compared, in bytes.
const fileMax = 8 << 20

// look describes a file as CEL sees it: exists, size and hash. Of a file above 16 MiB the hash covers both ends.
func look(ctx context.Context, path string) (map[string]any, error) {
	// Without O_NONBLOCK, opening a FIFO would wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|hostos.NonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{"exists": false, "size": 0, "hash": ""}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	sum := sha256.New()
	size := info.Size()
	if err := copyWithin(ctx, sum, io.NewSectionReader(f, 0, min(size, fileMax))); err != nil {
		return nil, err
	}
	if size > fileMax {
		from := max(fileMax, size-fileMax)
		if err := copyWithin(ctx, sum, io.NewSectionReader(f, from, size-from)); err != nil {
			return nil, err
		}
	}
	return map[string]any{"exists": true, "size": size, "hash": hex.EncodeToString(sum.Sum(nil))}, nil
}

// copyWithin copies until the end of from or of ctx.
func copyWithin(ctx context.Context, to io.Writer, from io.Reader) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := io.CopyN(to, from, 1<<20); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
