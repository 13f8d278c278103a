// Program apiserver runs a real kube-apiserver with its etcd in one process on loopback, for tests.
//
// When the server can be used it prints one line of JSON on stdout: see the type ready. It stops in good order on
// SIGTERM and SIGINT, and, if asked to, when its stdin is closed: so that a test that dies leaves no server behind.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // CronJobs name time zones

	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the metrics that the real program has
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// ready is what the program prints when the server can be used.
type ready struct {
	// https://127.0.0.1:PORT
	URL string `json:"url"`
	// The path of a kubeconfig for a cluster admin.
	Kubeconfig string `json:"kubeconfig"`
	// http://127.0.0.1:PORT of etcd: gRPC, and JSON under /v3/.
	Etcd string `json:"etcd"`
	// The folder with the keys; another API server for the same etcd has to use the same.
	PKI string `json:"pki"`
	// What the server says it is, for example v1.36.4.
	Version string `json:"version"`
	Pid     int    `json:"pid"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(arguments []string) (failure error) {
	options, err := parse(arguments)
	if errors.Is(err, errHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	stop := whenToStop(options.stopWithStdin)

	if err := os.MkdirAll(options.dir, 0o700); err != nil {
		return err
	}
	if options.temporary {
		defer func() {
			if failure == nil {
				failure = os.RemoveAll(options.dir)
			}
		}()
	}
	keys, err := openPKI(options.pki)
	if err != nil {
		return fmt.Errorf("cannot make keys in %s: %w", options.pki, err)
	}
	if options.etcdEndpoint == "" {
		etcd, err := startEtcd(options)
		if err != nil {
			return err
		}
		defer etcd.Close()
		options.etcdEndpoint = etcd.endpoint
	}
	server, err := startAPIServer(options, keys)
	if err != nil {
		return err
	}
	defer server.stop()
	if err := server.waitUntilReady(stop); err != nil {
		return err
	}
	failed := server.done
	if options.controllers != nil {
		manager, err := startControllers(options, keys, server)
		if err != nil {
			return err
		}
		defer manager.stop()
		if err := manager.waitUntilReady(stop); err != nil {
			return err
		}
		failed = firstOf(server.done, manager.done)
	}
	if stopped(stop) {
		return nil
	}

	line := ready{
		URL:        server.url,
		Kubeconfig: options.kubeconfig(),
		Etcd:       options.etcdEndpoint,
		PKI:        options.pki,
		Version:    server.version(),
		Pid:        os.Getpid(),
	}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		return err
	}
	select {
	case <-stop:
		return nil
	case err := <-failed:
		return err
	}
}

// whenToStop returns a channel that is closed when the program is told to stop. Told twice, it stops at once.
func whenToStop(withStdin bool) <-chan struct{} {
	stop, end := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		end()
		<-signals
		os.Exit(1)
	}()
	if withStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			end()
		}()
	}
	return stop.Done()
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
