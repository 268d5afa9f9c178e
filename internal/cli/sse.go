package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

const maxFrameBytes = 8 << 20

// frame is one server-sent event.
type frame struct {
	id, event, data string
}

// frames reads server-sent events until the stream ends; on gets each. An error of on ends the reading.
func frames(r io.Reader, on func(frame) error) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 64<<10), maxFrameBytes)
	var f frame
	var data []string
	for scanner.Scan() {
		line := scanner.Text()
		if line == "" {
			f.data = strings.Join(data, "\n")
			if f.event != "" || len(data) > 0 {
				if err := on(f); err != nil {
					return err
				}
			}
			f, data = frame{}, nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			data = append(data, value)
		}
	}
	if err := scanner.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read stream: %w", err)
	}
	return nil
}
