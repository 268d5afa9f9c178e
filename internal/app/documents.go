package app

import (
	"log/slog"
	"os"

	"sluice/internal/document"
	"sluice/internal/sandbox"
)

// documents reads documents with this program, in the sandbox.
func documents(log *slog.Logger, box *sandbox.Bubblewrap) *document.Reader {
	program, err := os.Executable()
	if err != nil {
		log.Warn("documents other than PDF can't be read: the path of this program is unknown", "err", err)
	}
	return &document.Reader{Sandbox: box, Program: program}
}
