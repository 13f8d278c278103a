package main

import (
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// decoder decodes a pod from a file again and again.
func decoder(s settings) (func() error, error) {
	bytes, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(s.file, ".pb") {
		return func() error { return new(corev1.Pod).Unmarshal(bytes) }, nil
	}
	return func() error { return json.Unmarshal(bytes, new(corev1.Pod)) }, nil
}

// decode measures one decode: the best of several rounds, garbage collection included.
func decode(s settings) error {
	decode, err := decoder(s)
	if err != nil {
		return err
	}
	const rounds = 7
	best := 0.0
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
