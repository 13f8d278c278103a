package main

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// objectsOf splits a file of objects, each after its length in four bytes.
func objectsOf(path string) ([][]byte, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var objects [][]byte
	for len(file) >= 4 {
		length := int(binary.BigEndian.Uint32(file))
		if len(file) < 4+length {
			return nil, errors.New("an object is cut off")
		}
		objects, file = append(objects, file[4:4+length]), file[4+length:]
	}
	if len(objects) == 0 {
		return nil, errors.New("there are no objects in the file")
	}
	return objects, nil
}

// decoder decodes the objects of a file in turn.
func decoder(s settings) (func() error, error) {
	objects, err := objectsOf(s.file)
	if err != nil {
		return nil, err
	}
	at := 0
	next := func() []byte {
		at = (at + 1) % len(objects)
		return objects[at]
	}
	if s.set == "widgets" {
		return func() error {
			_, _, err := unstructured.UnstructuredJSONScheme.Decode(next(), nil, nil)
			return err
		}, nil
	}
	unmarshal := func(pod *corev1.Pod) error { return json.Unmarshal(next(), pod) }
	if strings.HasSuffix(s.file, ".pb") {
		unmarshal = func(pod *corev1.Pod) error { return pod.Unmarshal(next()) }
	}
	if s.keep == 0 {
		return func() error { return unmarshal(new(corev1.Pod)) }, nil
	}
	kept, number := make([]*corev1.Pod, s.keep), 0
	return func() error {
		pod := new(corev1.Pod)
		kept[number] = pod
		number = (number + 1) % s.keep
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

// repeat only decodes: for counts of instructions.
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
