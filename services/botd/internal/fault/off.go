//go:build !fault

package fault

// Point does nothing.
func Point(Stage) {}
