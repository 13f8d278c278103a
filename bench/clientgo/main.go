// Command clientgo takes the same measurements of client-go that `bench` takes of kube-informer and kube-runtime.
//
// It prints one line of JSON for each figure: {"figure": "seconds", "value": 1.5}.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// What is to be measured, and on which server.
type settings struct {
	step     string
	url      string
	kind     string
	count    int
	events   int
	rate     int
	handlers int
	millis   int
	settle   int
	file     string
	keep     int
	read     string
	calls    int
}

func main() {
	var s settings
	flag.StringVar(&s.step, "step", "", "decode, repeat, sync, relist, events, latency, reads or queue")
	flag.StringVar(&s.url, "url", "", "the replay server")
	flag.StringVar(&s.kind, "kind", "pods", "pods or widgets")
	flag.IntVar(&s.count, "count", 0, "how many objects or keys there are, or how often to decode")
	flag.IntVar(&s.events, "events", 0, "how many events")
	flag.IntVar(&s.rate, "rate", 0, "how many a second; 0 for as fast as possible")
	flag.IntVar(&s.handlers, "handlers", 1, "how many handlers")
	flag.IntVar(&s.millis, "millis", 1000, "for how long each read is repeated beside the writer")
	flag.IntVar(&s.settle, "settle", 2000, "how many milliseconds a program is left alone before its memory is looked at")
	flag.StringVar(&s.file, "file", "", "a pod to decode; protobuf if it ends in .pb")
	flag.IntVar(&s.keep, "keep", 0, "how many of the decoded pods are kept, the last ones")
	flag.StringVar(&s.read, "read", "", "the one way of reading that is repeated, and nothing else measured")
	flag.IntVar(&s.calls, "calls", 0, "how often it is repeated")
	flag.Parse()
	steps := map[string]func(settings) error{
		"decode": decode, "repeat": repeat, "sync": syncOnce, "relist": relist,
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

// tell says to the replay server what is to happen next.
func tell(s settings, path string) error {
	response, err := http.Post(s.url+path, "text/plain", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	return nil
}

// serverTimes are when the server started and when it was last asked for all objects.
func serverTimes(s settings) (started, asked time.Time, err error) {
	response, err := http.Get(s.url + "/bench/state")
	if err != nil {
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return
	}
	var state struct{ Started, Asked int64 }
	if err = json.Unmarshal(body, &state); err != nil {
		return
	}
	return time.Unix(0, state.Started), time.Unix(0, state.Asked), nil
}
