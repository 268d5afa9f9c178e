// Package markdown is being written.
package markdown

import "html"

// TelegramHTML renders.
func TelegramHTML(text string) string { return html.EscapeString(text) }

// Split cuts.
func Split(text string, limit int) []string { return []string{text} }

// Structured tells.
func Structured(text string) bool { return false }
