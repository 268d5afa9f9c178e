package approvals

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sluice/internal/visible"
	"sluice/router/ledger"
	"sluice/router/outbound"
)

// questionText is the question about a call.
func questionText(p ledger.Approval) string {
	why := ""
	if p.Why != "" {
		why = " Reason: " + visible.Line(p.Why) + "."
	}
	return fmt.Sprintf("May I use %s?%s\n\n%s\n\n%s", visible.CodeSpan(p.Tool), why, shownArgs(p), outbound.SilenceMeans(p))
}

// bareQuestion asks about a call where even the tool's name is too secret to show.
func bareQuestion(p ledger.Approval) string {
	return "May I use a tool? " + outbound.NotShown(p.ID) + "\n\n" + outbound.SilenceMeans(p)
}

// shownArgs are a call's arguments as a question shows them.
func shownArgs(p ledger.Approval) string {
	args := bytes.Buffer{}
	if json.Indent(&args, p.Args, "", "  ") != nil {
		args.Reset()
		args.Write(p.Args)
	}
	return outbound.Shown(p.ID, args.String())
}
