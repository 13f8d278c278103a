package main

import (
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// decoder decodes a pod from a file again and again.
func decoder(s settings) (func() error, error) {
	bytes, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	if s.kind == "widgets" {
		return func() error {
			_, _, err := unstructured.UnstructuredJSONScheme.Decode(bytes, nil, nil)
			return err
		}, nil
	}
	unmarshal := func(pod *corev1.Pod) error { return json.Unmarshal(bytes, pod) }
	if strings.HasSuffix(s.file, ".pb") {
		if s.keep == 0 {
			return func() error { return new(corev1.Pod).Unmarshal(bytes) }, nil
		}
		unmarshal = func(pod *corev1.Pod) error { return pod.Unmarshal(bytes) }
	}
	if s.keep == 0 {
		return func() error { return unmarshal(new(corev1.Pod)) }, nil
	}
	kept, next := make([]*corev1.Pod, s.keep), 0
	return func() error {
		pod := new(corev1.Pod)
		kept[next] = pod
		next = (next + 1) % s.keep
		return unmarshal(pod)
	}, nil
}

// decode measures one decode: the best of several rounds, garbage collection included.
func decode(s settings) error {
	decode, err := decoder(s)
	if err != nil {
		return err
	}
	for range s.keep {
		if err := decode(); err != nil {
			return err
		}
	}
	const rounds = 7
	worked, best := cpuSeconds(), 0.0
	for round := range rounds {
		begun := time.Now()
		for range s.count {
			if err := decode(); err != nil {
				return err
			}
		}
		each := float64(time.Since(begun).Nanoseconds()) / float64(s.count)
		if round == 0 || each < best {
			best = each
		}
	}
	say("ns", best)
	say("cpu_ns", (cpuSeconds()-worked)*1e9/float64(rounds*s.count))
	return nil
}

// repeat only decodes, so often: for those who count instructions.
func repeat(s settings) error {
	decode, err := decoder(s)
	if err != nil {
		return err
	}
	for range s.count {
		if err := decode(); err != nil {
			return err
		}
	}
	return nil
}
