package main

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are chosen from here, which is below the range from which the operating system gives ports to clients. So a
// server that is started again finds its port free, however often clients have tried to reach it in between.
const (
	firstPort = 20_000
	ports     = 10_000
)

// How many ports are tried before none is free.
const portTries = 100

// listen listens on a port of loopback; on a free one if it is 0.
func listen(port int) (net.Listener, error) {
	if port != 0 {
		return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	}
	var err error
	for range portTries {
		var listener net.Listener
		listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports)))
		if err == nil {
			return listener, nil
		}
	}
	return nil, fmt.Errorf("no free port: %w", err)
}
