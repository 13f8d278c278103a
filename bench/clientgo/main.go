// Command clientgo takes the same measurements of client-go that `bench` takes of kube-informer and kube-rs.
//
// It prints one line of JSON for each figure: {"figure": "seconds", "value": 1.5}.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// What is to be measured, and on which server.
type settings struct {
	step     string
	url      string
	ca       string
	set      string
	count    int
	events   int
	rate     int
	handlers int
	changed  int
	millis   int
	settle   int
	file     string
	keep     int
	read     string
	calls    int
	// Managed fields are dropped before objects are stored.
	dropManagedFields bool
}

func main() {
	var s settings
	flag.StringVar(&s.step, "step", "", "decode, repeat, sync, relist, restart, events, latency, reads or queue")
	flag.StringVar(&s.url, "url", "", "the replay server")
	flag.StringVar(&s.ca, "ca", "", "the file of the server's certificate, in DER")
	flag.StringVar(&s.set, "set", "pods", "which objects to decode: template, pods or widgets")
	flag.IntVar(&s.count, "count", 0, "how many keys a queue has, or how often to decode")
	flag.IntVar(&s.events, "events", 0, "how many events")
	flag.IntVar(&s.rate, "rate", 0, "how many a second; 0 for as fast as possible")
	flag.IntVar(&s.handlers, "handlers", 1, "how many handlers")
	flag.IntVar(&s.changed, "changed", 1, "how many of a hundred objects a relist finds changed")
	flag.IntVar(&s.millis, "millis", 1000, "for how long each read is repeated beside the writer")
	flag.IntVar(&s.settle, "settle", 2000, "how many milliseconds a program is left alone before its memory is read")
	flag.StringVar(&s.file, "file", "", "objects to decode, each after its length in four bytes; protobuf if it ends in .pb")
	flag.IntVar(&s.keep, "keep", 0, "how many of the decoded objects are kept, the last ones")
	flag.StringVar(&s.read, "read", "", "the one way of reading that is repeated, and nothing else measured")
	flag.IntVar(&s.calls, "calls", 0, "how often it is repeated")
	flag.BoolVar(&s.dropManagedFields, "drop-managed-fields", false, "drop managed fields before objects are stored")
	flag.Parse()
	steps := map[string]func(settings) error{
		"decode": decode, "repeat": repeat, "sync": syncOnce, "relist": relist, "restart": restart,
		"events": events, "latency": latency, "reads": reads, "queue": queue,
	}
	run, known := steps[s.step]
	if !known {
		fail(fmt.Errorf("there is no step %q", s.step))
	}
	if err := run(s); err != nil {
		fail(fmt.Errorf("%s: %w", s.step, err))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "clientgo:", err)
	os.Exit(1)
}

// say prints one figure.
func say(figure string, value float64) {
	line, err := json.Marshal(map[string]any{"figure": figure, "value": value})
	if err != nil {
		fail(err)
	}
	fmt.Println(string(line))
}
