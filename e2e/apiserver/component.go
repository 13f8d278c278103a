package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// What has not become ready after this time never will.
const startPatience = 2 * time.Minute

// What has not stopped after this time is left to the operating system.
const stopPatience = 20 * time.Second

// How often it is looked whether something has come about.
const pollInterval = 20 * time.Millisecond

// component is a program that runs inside this one.
type component struct {
	name   string
	cancel context.CancelFunc
	// Gets why the component ended, and is closed then.
	done chan error
}

// runComponent runs a program that ends when its context does.
func runComponent(name string, program func(context.Context) error) *component {
	ctx, cancel := context.WithCancel(context.Background())
	c := &component{name: name, cancel: cancel, done: make(chan error, 1)}
	go func() {
		defer close(c.done)
		err := program(ctx)
		if err == nil {
			err = errors.New("it was not told to")
		}
		if ctx.Err() == nil {
			c.done <- fmt.Errorf("the %s has stopped: %w", name, err)
		}
	}()
	return c
}

// stop tells the component to stop and waits until it has, but not for ever.
func (c *component) stop() {
	c.cancel()
	select {
	case <-c.done:
	case <-time.After(stopPatience):
		fmt.Fprintf(os.Stderr, "the %s has not stopped after %s\n", c.name, stopPatience)
	}
}

// waitFor waits until something has come about, the component has ended, or the program is told to stop.
func (c *component) waitFor(stop <-chan struct{}, cameAbout func() error) error {
	patience := time.After(startPatience)
	for {
		err := cameAbout()
		if err == nil {
			return nil
		}
		select {
		case <-stop:
			return nil
		case err := <-c.done:
			return err
		case <-patience:
			return fmt.Errorf("the %s is not ready after %s: %w", c.name, startPatience, err)
		case <-time.After(pollInterval):
		}
	}
}

// firstOf gets what one of two channels gets.
func firstOf(one, two <-chan error) chan error {
	first := make(chan error, 1)
	go func() {
		select {
		case err := <-one:
			first <- err
		case err := <-two:
			first <- err
		}
	}()
	return first
}
