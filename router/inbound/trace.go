package inbound

import (
	"cmp"
	"time"

	"sluice/internal/telemetry"
)

// traced records the intake of an event as the root span of the trace of its run or notice.
func (i *Intake) traced(in Admission, got Admitted, started time.Time) *telemetry.Span {
	if !i.Tracer.On() {
		return nil
	}
	row := cmp.Or(string(got.Run), string(got.NoticeID))
	if row == "" || got.Repeat {
		return nil
	}
	span := i.Tracer.Message(row, started)
	i.Tracer.Remember(row, telemetry.TraceOf(row, ""))
	span.Text("messaging.system", in.Route.Channel).Text("messaging.operation.type", "receive").Text("sluice.account", in.Route.Account).
		Text("sluice.chat_type", string(in.Route.ChatType)).Text("sluice.outcome", string(got.Outcome)).Text("sluice.run", string(got.Run)).
		Text("gen_ai.conversation.id", string(got.Session)).Size("messaging.message.body.size", len(in.Text)).Size("sluice.files", len(in.Attachments))
	span.EndAt(i.Now())
	return span
}
