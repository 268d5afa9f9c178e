package pause

// Signal asks a goroutine to run soon. Signals that arrive before it runs count as one.
type Signal chan struct{}

// NewSignal creates a Signal that is not raised.
func NewSignal() Signal { return make(Signal, 1) }

// Raise gives the signal. It never blocks.
func (s Signal) Raise() {
	select {
	case s <- struct{}{}:
	default: // a signal is pending
	}
}
