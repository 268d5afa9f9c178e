package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxLength is the length of the longest expression in bytes.
const MaxLength = 500

// shorthands are the words that stand for an expression.
var shorthands = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Fault says what is wrong with an expression, and where.
type Fault struct {
	Expr   string
	Field  string // its name; empty: the whole expression
	Column int    // of its first wrong byte, from 1
	Text   string
}

// Error is the fault in one line.
func (f *Fault) Error() string {
	if f.Field == "" {
		return fmt.Sprintf("cron expression %q: %s", f.Expr, f.Text)
	}
	return fmt.Sprintf("cron expression %q, column %d (%s): %s", f.Expr, f.Column, f.Field, f.Text)
}

// Parse reads an expression of five fields (minute to day of the week), of six with seconds in front, or a word such as
// @daily. An expression that names no instant is an error. Errors are of type *Fault.
func Parse(text string) (*Expr, error) {
	whole := func(format string, args ...any) error { return &Fault{Expr: text, Text: fmt.Sprintf(format, args...)} }
	if len(text) > MaxLength {
		text = text[:MaxLength]
		return nil, whole("it is longer than %d bytes", MaxLength)
	}
	source := text
	if word := strings.ToLower(strings.TrimSpace(text)); strings.HasPrefix(word, "@") {
		source = shorthands[word]
		switch {
		case strings.HasPrefix(word, "@every"):
			return nil, whole("for equal intervals, use every: %s", strings.TrimSpace(strings.TrimPrefix(word, "@every")))
		case source == "":
			return nil, whole("unknown word; allowed are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly")
		}
	}
	words := split(source)
	if len(words) != 5 && len(words) != 6 {
		return nil, whole("it has %d fields; write 5 (minute hour day-of-month month day-of-week), or 6 with seconds in front", len(words))
	}
	e := &Expr{text: text}
	all := fields()[6-len(words):]
	if len(words) == 5 {
		e.second = bit(0)
	}
	for i, w := range words {
		p := &parser{field: all[i], text: w.text, expr: e}
		if err := p.parse(); err != nil {
			return nil, &Fault{Expr: text, Field: all[i].name, Column: w.column + p.at, Text: err.Error()}
		}
	}
	if _, ok := e.match(wall{year: 2000, month: 1, day: 1}, 2000+cycle); !ok {
		return nil, whole("it never fires: no month that it names has such a day")
	}
	return e, nil
}

type word struct {
	text   string
	column int
}

// split cuts a text at spaces and tabs.
func split(text string) []word {
	var all []word
	start := -1
	for i := 0; i <= len(text); i++ {
		blank := i == len(text) || text[i] == ' ' || text[i] == '\t'
		switch {
		case blank && start >= 0:
			all, start = append(all, word{text[start:i], start + 1}), -1
		case !blank && start < 0:
			start = i
		}
	}
	return all
}

// field is one of the six.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min on
}

func fields() []field {
	return []field{
		{"second", 0, 59, nil},
		{"minute", 0, 59, nil},
		{"hour", 0, 23, nil},
		{"day of month", 1, 31, nil},
		{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{"day of week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

func (f field) isDays() bool { return f.name == "day of month" }
func (f field) isWeek() bool { return f.name == "day of week" }

// allowed describes the values of a field.
func (f field) allowed() string {
	text := fmt.Sprintf("allowed are %d to %d", f.min, f.max)
	if f.names != nil {
		text += fmt.Sprintf(" and %s to %s", f.names[0], f.names[len(f.names)-1])
	}
	if f.isWeek() {
		text += " (0 and 7 are Sunday)"
	}
	return text
}

// parser reads one field. at is the place that it reads, and the place of the fault after an error.
type parser struct {
	field field
	text  string
	at    int
	expr  *Expr
}

func (p *parser) parse() error {
	star := strings.HasPrefix(p.text, "*") || p.text == "?"
	if p.text == "?" {
		if !p.field.isDays() && !p.field.isWeek() {
			return fmt.Errorf("? is only for days; write *")
		}
		p.text = "*"
	}
	var set uint64
	for {
		end := len(p.text)
		if comma := strings.IndexByte(p.text[p.at:], ','); comma >= 0 {
			end = p.at + comma
		}
		item := p.text[p.at:end]
		if !p.special(strings.ToLower(item)) {
			values, err := p.item(item)
			if err != nil {
				return err
			}
			set |= values
		}
		if end == len(p.text) {
			break
		}
		p.at = end + 1
	}
	p.keep(set, star)
	return nil
}

// keep stores the set of the field.
func (p *parser) keep(set uint64, star bool) {
	e := p.expr
	switch p.field.name {
	case "second":
		e.second = set
	case "minute":
		e.minute = set
	case "hour":
		e.hour = set
	case "month":
		e.month = set
	case "day of month":
		e.days.set, e.anyMonthDay = set, star
	default:
		if has(set, 7) {
			set |= bit(0)
		}
		e.weekdays.set, e.anyWeekDay = set&(bit(7)-1), star
	}
}

// special reads the items that depend on the month: L, L-n, LW and nW for days of the month, nL and n#k for weekdays.
func (p *parser) special(item string) bool {
	switch {
	case p.field.isDays():
		return p.specialDay(item)
	case p.field.isWeek():
		return p.specialWeekday(item)
	}
	return false
}

func (p *parser) specialDay(item string) bool {
	days := &p.expr.days
	if item == "lw" {
		days.lastWorking = true
		return true
	}
	if item == "l" {
		days.fromLast |= bit(0)
		return true
	}
	if before, ok := strings.CutPrefix(item, "l-"); ok {
		n, ok := number(before)
		ok = ok && n >= 1 && n <= 30
		if ok {
			days.fromLast |= bit(n)
		}
		return ok
	}
	day, ok := strings.CutSuffix(item, "w")
	n, isNumber := number(day)
	ok = ok && isNumber && n >= 1 && n <= 31
	if ok {
		days.nearest |= bit(n)
	}
	return ok
}

func (p *parser) specialWeekday(item string) bool {
	week := &p.expr.weekdays
	if name, ok := strings.CutSuffix(item, "l"); ok {
		n, err := p.value(name)
		if err == nil {
			week.last |= bit(n % 7)
		}
		return err == nil
	}
	name, count, ok := strings.Cut(item, "#")
	n, err := p.value(name)
	k, isNumber := number(count)
	ok = ok && err == nil && isNumber && k >= 1 && k <= 5
	if ok {
		week.nth[k] |= bit(n % 7)
	}
	return ok
}

// item reads *, a value, a range, and each of them with a step.
func (p *parser) item(item string) (uint64, error) {
	from, step, stepped := strings.Cut(item, "/")
	low, high, ranged := strings.Cut(from, "-")
	first, last := p.field.min, p.field.max
	if p.field.isWeek() && from == "*" {
		last = 6
	}
	if from != "*" {
		var err error
		if first, err = p.value(low); err != nil {
			return 0, err
		}
		switch {
		case ranged:
			place := p.at
			p.at += len(low) + 1
			if last, err = p.value(high); err != nil {
				return 0, err
			}
			if p.field.isWeek() && last == 0 && first > 0 {
				last = 7 // to Sunday
			}
			if last < first {
				p.at = place
				return 0, fmt.Errorf("the range %s runs backwards; write two ranges with a comma", from)
			}
			p.at = place
		case !stepped:
			last = first
		}
	}
	width := 1
	if stepped {
		p.at += len(from) + 1
		n, ok := number(step)
		if !ok || n < 1 || n > p.field.max-p.field.min {
			return 0, fmt.Errorf("%s is not a valid step; allowed are 1 to %d", quote(step), p.field.max-p.field.min)
		}
		width = n
	}
	var set uint64
	for n := first; n <= last; n += width {
		set |= bit(n)
	}
	return set, nil
}

// value reads a number or a name.
func (p *parser) value(text string) (int, error) {
	if i := slices.Index(p.field.names, strings.ToLower(text)); i >= 0 {
		return p.field.min + i, nil
	}
	n, ok := number(text)
	if !ok || n < p.field.min || n > p.field.max {
		return 0, fmt.Errorf("%s is not allowed; %s%s", quote(text), p.field.allowed(), p.hint())
	}
	return n, nil
}

// hint names the further items of a field.
func (p *parser) hint() string {
	switch {
	case p.field.isDays():
		return ", L, L-1 to L-30, LW, and 1W to 31W"
	case p.field.isWeek():
		return ", the last one as 5L, the second one as 5#2 (1 to 5)"
	}
	return ""
}

func quote(text string) string {
	if text == "" {
		return "an empty value"
	}
	return strconv.Quote(text)
}

// number reads one or two digits.
func number(text string) (int, bool) {
	if text == "" || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// local are the ways to write a time without a zone.
var local = []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02"}

// ParseTime reads a time with an offset (RFC 3339), or a local time in a zone.
func ParseTime(text string, loc *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.In(loc), nil
	}
	for _, layout := range local {
		if t, err := time.Parse(layout, text); err == nil {
			return instant(wallOf(t), loc), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write it as 2026-12-24T18:00 (local time) or 2026-12-24T18:00:00+01:00", text)
}
