package message

// PictureMax is the size in bytes of the largest picture that a model is shown. Each model gets it as large as it takes.
const PictureMax = 16 << 20

// IsPicture reports whether the file was fetched and is a picture that models can be shown.
func (a *Attachment) IsPicture() bool {
	if a == nil || a.Media == "" || a.Size > PictureMax {
		return false
	}
	switch a.MIME {
	case "image/png", "image/jpeg", "image/webp", "image/gif":
		return true
	}
	return false
}
