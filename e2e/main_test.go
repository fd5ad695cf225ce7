// Package e2e tests the project's real programs together, over real sockets.
package e2e_test

import (
	"os"
	"testing"

	"quartet/e2e/internal/stack"
)

func TestMain(m *testing.M) { os.Exit(stack.Main(m)) }
