// Program clientgo is the real client-go, for tests that compare with it.
//
//	clientgo judge           runs informers as told on stdin, and writes each callback to stdout
//	clientgo kubectl ARGS    is the real kubectl
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fail("say what to do: judge, kubectl")
	}
	switch os.Args[1] {
	case "judge":
		if err := judge(os.Stdin, os.Stdout); err != nil {
			fail(err.Error())
		}
	case "kubectl":
		kubectl(os.Args[1:])
	default:
		fail(fmt.Sprintf("nobody knows %q; it is judge or kubectl", os.Args[1]))
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "error:", why)
	os.Exit(1)
}
