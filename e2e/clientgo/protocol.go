package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// command is one line on stdin. Each is answered by a line with its number, in the order of its run; runs know
// nothing of each other.
type command struct {
	Number uint64 `json:"number"`
	Run    string `json:"run"`
	Do     string `json:"do"`

	// begin
	Kubeconfig string `json:"kubeconfig"`

	// The informer, for all others; and the name of what is made or asked for.
	Of   string `json:"of"`
	Name string `json:"name"`

	Informer informerSpec `json:"informer"`
	Handler  handlerSpec  `json:"handler"`

	// Questions.
	Namespace string `json:"namespace"`
	Labels    string `json:"labels"`
	Value     string `json:"value"`
}

// line is one line on stdout: an answer if it has a number, a callback if it has an event.
type line struct {
	Number uint64 `json:"number,omitempty"`
	Answer any    `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`

	Run     string `json:"run,omitempty"`
	Handler string `json:"handler,omitempty"`
	Event   *event `json:"event,omitempty"`
}

// output writes lines, each whole and at once.
type output struct {
	mutex  sync.Mutex
	writer *bufio.Writer
}

func (o *output) write(l line) {
	bytes, err := json.Marshal(l)
	if err != nil {
		bytes = fmt.Appendf(nil, `{"number":%d,"error":%q}`, l.Number, err)
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.writer.Write(append(bytes, '\n'))
	o.writer.Flush()
}

// judge does what it is told, until there is nothing more to read.
func judge(stdin io.Reader, stdout io.Writer) error {
	// A handler that panics is part of what is compared.
	utilruntime.ReallyCrash = false
	out := &output{writer: bufio.NewWriter(stdout)}
	runs := map[string]chan command{}
	lines := json.NewDecoder(stdin)
	for {
		var c command
		if err := lines.Decode(&c); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		queue := runs[c.Run]
		if queue == nil {
			queue = make(chan command, 64)
			runs[c.Run] = queue
			go newRun(c.Run, out).follow(queue)
		}
		queue <- c
		if c.Do == "end" {
			close(queue)
			delete(runs, c.Run)
		}
	}
}
