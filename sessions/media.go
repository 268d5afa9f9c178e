package sessions

// MediaID names a stored file: "med_" and 32 hex digits that sort by time.
type MediaID string

// NewMediaID makes a media id.
func NewMediaID() MediaID { return MediaID("med_" + sortableHex()) }
