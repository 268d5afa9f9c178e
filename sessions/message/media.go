package message

// PictureMax is the size in bytes of the largest picture that a model is shown:
// Anthropic takes 5 MiB, counted in base64.
const PictureMax = 5 << 20 / 4 * 3

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
