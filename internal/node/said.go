package node

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/internal/node/protocol"
)

// Said is a line as a message or an event.
func Said(line string) (protocol.Frame, error) {
	f := protocol.Frame{Kind: protocol.Message, ID: uuid.NewString(), Text: line, At: time.Now().UTC()}
	about, ok := strings.CutPrefix(line, "!event ")
	if !ok {
		return f, nil
	}
	name, data, _ := strings.Cut(strings.TrimSpace(about), " ")
	f.Kind, f.Text, f.Name = protocol.Event, "", name
	if data = strings.TrimSpace(data); data != "" {
		if !json.Valid([]byte(data)) {
			return f, fmt.Errorf("the data of event %s is not JSON", name)
		}
		f.Data = json.RawMessage(data)
	}
	return f, nil
}
