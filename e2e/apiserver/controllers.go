package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	genericmanager "k8s.io/controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	manageroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// controllers is the kube-controller-manager that runs in this process.
type controllers struct {
	*component
	options *options
	server  *apiServer
}

// startControllers starts them against a server that is ready. Feature gates are those of the server.
func startControllers(o *options, keys *pki, server *apiServer) (*controllers, error) {
	options, err := manageroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	all, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	named := options.Flags(all, disabled, aliases)
	options.ParsedFlags = &named
	set := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	set.Usage = func() {}
	for _, group := range named.FlagSets {
		set.AddFlagSet(group)
	}
	flags := []string{
		"--kubeconfig=" + o.kubeconfig(),
		"--leader-elect=false",
		"--secure-port=0",
		"--service-account-private-key-file=" + keys.accountKey,
		"--root-ca-file=" + keys.caCert,
		"--cluster-signing-cert-file=" + keys.caCert,
		"--cluster-signing-key-file=" + keys.caKey,
	}
	for _, name := range o.controllers {
		flags = append(flags, "--controllers="+name)
	}
	if err := set.Parse(append(flags, o.managerFlags...)); err != nil {
		return nil, fmt.Errorf("kube-controller-manager: %w", err)
	}
	config, err := options.Config(context.Background(), all, disabled, aliases)
	if err != nil {
		return nil, fmt.Errorf("kube-controller-manager: %w", err)
	}
	program := func(ctx context.Context) error { return app.Run(ctx, config.Complete()) }
	return &controllers{component: runComponent("kube-controller-manager", program), options: o, server: server}, nil
}

// waitUntilReady waits until pods can be made: until their service account is there.
func (c *controllers) waitUntilReady(stop <-chan struct{}) error {
	if !c.options.makesServiceAccounts() {
		return nil
	}
	return c.waitFor(stop, func() error {
		accounts := c.server.admin.CoreV1().ServiceAccounts(metav1.NamespaceDefault)
		_, err := accounts.Get(context.Background(), "default", metav1.GetOptions{})
		return err
	})
}

// makesServiceAccounts says whether the controller runs that makes a service account for each namespace.
func (o *options) makesServiceAccounts() bool {
	return genericmanager.IsControllerEnabled(names.ServiceAccountController, sets.NewString(), o.controllers)
}
