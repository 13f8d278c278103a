package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// errHelp says that the program was only asked how it is used.
var errHelp = errors.New("help")

// options are what can be chosen on the command line.
type options struct {
	dir           string
	pki           string
	port          int
	etcdEndpoint  string
	etcdListen    string
	snapshot      string
	revisionBump  uint64
	featureGates  string
	tokenFile     string
	tokens        []string
	rbac          bool
	auditLog      bool
	watchCache    bool
	cacheSizes    []string
	inflight      int
	controllers   []string
	managerFlags  []string
	stopWithStdin bool
	temporary     bool
	// What follows -- on the command line: flags for kube-apiserver as they are.
	extra []string
}

func parse(arguments []string) (*options, error) {
	o := &options{}
	flags := pflag.NewFlagSet("apiserver", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&o.dir, "dir", "", "Where all files go: keys, kubeconfig, data, audit log, tokens. Needed. A second start continues with what is there.")
	flags.StringVar(&o.pki, "pki", "", "Where the keys are; those of another server for a second server on its etcd. (default: pki in --dir)")
	flags.IntVar(&o.port, "port", 0, "The port on 127.0.0.1; 0 for a free one.")
	flags.StringVar(&o.etcdEndpoint, "etcd-endpoint", "", "The etcd of another process, as http://127.0.0.1:PORT. (default: one in this process)")
	flags.StringVar(&o.etcdListen, "etcd-listen", "", "Where etcd in this process listens, as 127.0.0.1:PORT. (default: a free port)")
	flags.StringVar(&o.snapshot, "restore", "", "A snapshot of etcd to restore before the start; data in --dir is removed first.")
	flags.Uint64Var(&o.revisionBump, "restore-bump-revision", 0, "How much to add to the revision that is restored; older ones are marked as compacted then.")
	flags.StringVar(&o.featureGates, "feature-gates", "", "Feature gates, for example WatchList=false.")
	flags.StringVar(&o.tokenFile, "token-file", "", "Users with fixed tokens, as in kube-apiserver's --token-auth-file.")
	flags.StringArrayVar(&o.tokens, "token", nil, `One more line of --token-file: TOKEN,USER,UID[,"GROUP,..."]. May be repeated.`)
	flags.BoolVar(&o.rbac, "rbac", false, "Users may do what roles say; otherwise every known user may do everything.")
	flags.BoolVar(&o.auditLog, "audit-log", false, "Write what is asked to audit.log in --dir.")
	flags.BoolVar(&o.watchCache, "watch-cache", true, "Answer lists and watches from memory.")
	flags.StringSliceVar(&o.cacheSizes, "watch-cache-size", nil, "RESOURCE[.GROUP]#SIZE: 0 for no watch cache of a resource. Others change nothing: kube-apiserver chooses the size itself.")
	flags.IntVar(&o.inflight, "max-requests-inflight", 0, "How many reading requests may be under way; 0 for as many as kube-apiserver likes.")
	flags.StringSliceVar(&o.controllers, "controllers", nil, "Also run kube-controller-manager, with these controllers: '*', '*,-namespace-controller'.")
	flags.StringArrayVar(&o.managerFlags, "controller-manager-flag", nil, "A flag of kube-controller-manager itself, as --name=value. May be repeated.")
	flags.BoolVar(&o.stopWithStdin, "stop-with-stdin", false, "Stop when stdin is closed.")
	flags.BoolVar(&o.temporary, "temporary", false, "Remove --dir when the server has stopped in good order.")
	flags.Usage = func() {
		fmt.Fprintln(os.Stderr, "Usage: apiserver --dir DIR [flags] [-- flags of kube-apiserver]")
		fmt.Fprint(os.Stderr, flags.FlagUsages())
	}
	if err := flags.Parse(arguments); errors.Is(err, pflag.ErrHelp) {
		return nil, errHelp
	} else if err != nil {
		return nil, err
	}
	o.extra = flags.Args()
	if dash := flags.ArgsLenAtDash(); len(o.extra) > 0 && dash != 0 {
		return nil, fmt.Errorf("unexpected %q; flags of kube-apiserver go behind --", o.extra[0])
	}
	return o, o.check()
}

func (o *options) check() error {
	if o.dir == "" {
		return errors.New("--dir is missing: where files are to go")
	}
	var err error
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	if o.pki == "" {
		o.pki = filepath.Join(o.dir, "pki")
	}
	if o.pki, err = filepath.Abs(o.pki); err != nil {
		return err
	}
	if o.etcdEndpoint != "" && o.etcdListen != "" {
		return errors.New("--etcd-endpoint and --etcd-listen contradict each other: there is one etcd")
	}
	if o.snapshot != "" && o.etcdEndpoint != "" {
		return errors.New("--restore needs the etcd in this process, and --etcd-endpoint names another")
	}
	if o.revisionBump > 0 && o.snapshot == "" {
		return errors.New("--restore-bump-revision needs --restore")
	}
	if o.etcdEndpoint != "" && !strings.HasPrefix(o.etcdEndpoint, "http://127.0.0.1:") {
		return fmt.Errorf("--etcd-endpoint is %q; it has to be http://127.0.0.1:PORT", o.etcdEndpoint)
	}
	if o.etcdListen != "" && !strings.HasPrefix(o.etcdListen, "127.0.0.1:") {
		return fmt.Errorf("--etcd-listen is %q; it has to be 127.0.0.1:PORT", o.etcdListen)
	}
	return nil
}

func (o *options) kubeconfig() string {
	return filepath.Join(o.dir, "kubeconfig")
}
