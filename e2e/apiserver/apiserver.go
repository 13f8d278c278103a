package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	serveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// apiServer is the kube-apiserver that runs in this process.
type apiServer struct {
	*component
	url   string
	admin kubernetes.Interface
}

func startAPIServer(o *options, keys *pki) (*apiServer, error) {
	if err := writeFiles(o); err != nil {
		return nil, err
	}
	listener, err := listen(o.port)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	url := "https://" + listener.Addr().String()
	if err := writeKubeconfig(o.kubeconfig(), url, keys); err != nil {
		return nil, err
	}
	admin, err := kubernetes.NewForConfig(adminConfig(url, keys))
	if err != nil {
		return nil, err
	}
	completed, err := completeOptions(apiServerFlags(o, keys), listener)
	if err != nil {
		return nil, err
	}
	program := func(ctx context.Context) error { return app.Run(ctx, completed) }
	return &apiServer{component: runComponent("kube-apiserver", program), url: url, admin: admin}, nil
}

// waitUntilReady waits until the server says it is ready, and the default namespace is there.
func (s *apiServer) waitUntilReady(stop <-chan struct{}) error {
	ctx := context.Background()
	return s.waitFor(stop, func() error {
		if err := s.admin.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		_, err := s.admin.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	})
}

// version is what the server says it is.
func (s *apiServer) version() string {
	version, err := s.admin.Discovery().ServerVersion()
	if err != nil {
		return ""
	}
	return version.GitVersion
}

// apiServerFlags is how kube-apiserver would be started from the command line. What the user gives comes last, and wins.
func apiServerFlags(o *options, keys *pki) []string {
	flags := []string{
		"--etcd-servers=" + o.etcdEndpoint,
		// A test decides when history is forgotten.
		"--etcd-compaction-interval=0",
		// Without it, open watches hold up the end for a minute.
		"--shutdown-watch-termination-grace-period=1s",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + keys.serverCert,
		"--tls-private-key-file=" + keys.serverKey,
		"--client-ca-file=" + keys.caCert,
		"--token-auth-file=" + o.tokensFile(),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + keys.accountKey,
		"--service-account-signing-key-file=" + keys.accountKey,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--allow-privileged=true",
		fmt.Sprintf("--watch-cache=%t", o.watchCache),
		"--authorization-mode=" + o.authorizationMode(),
	}
	if !o.makesServiceAccounts() {
		// Nobody makes the service account without which it refuses pods.
		flags = append(flags, "--disable-admission-plugins=ServiceAccount")
	}
	if o.auditLog {
		flags = append(flags, "--audit-policy-file="+o.auditPolicyFile(), "--audit-log-path="+filepath.Join(o.dir, "audit.log"))
	}
	if len(o.cacheSizes) > 0 {
		flags = append(flags, "--watch-cache-sizes="+strings.Join(o.cacheSizes, ","))
	}
	if o.inflight > 0 {
		flags = append(flags, fmt.Sprintf("--max-requests-inflight=%d", o.inflight))
	}
	if o.featureGates != "" {
		flags = append(flags, "--feature-gates="+o.featureGates)
	}
	return append(flags, o.extra...)
}

// completeOptions does what the command line of kube-apiserver does before it runs, except that the socket is given.
func completeOptions(flags []string, listener net.Listener) (serveroptions.CompletedOptions, error) {
	var none serveroptions.CompletedOptions
	options := serveroptions.NewServerRunOptions()
	named := options.Flags()
	options.Flagz = flagz.NamedFlagSetsReader{FlagSets: named}
	set := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	set.Usage = func() {}
	for _, group := range named.FlagSets {
		set.AddFlagSet(group)
	}
	if err := set.Parse(flags); err != nil {
		return none, fmt.Errorf("kube-apiserver: %w", err)
	}
	if rest := set.Args(); len(rest) > 0 {
		return none, fmt.Errorf("kube-apiserver: unexpected %q", rest[0])
	}
	options.SecureServing.Listener = listener
	options.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port

	registry := options.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := registry.Set(); err != nil {
		return none, err
	}
	if err := logsapi.ValidateAndApply(options.Logs, registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)); err != nil {
		return none, err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := options.Complete(context.Background())
	if err != nil {
		return none, err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return none, utilerrors.NewAggregate(errs)
	}
	return completed, nil
}

func (o *options) authorizationMode() string {
	if o.rbac {
		return "RBAC"
	}
	return "AlwaysAllow"
}

func (o *options) tokensFile() string {
	return filepath.Join(o.dir, "tokens.csv")
}

func (o *options) auditPolicyFile() string {
	return filepath.Join(o.dir, "audit-policy.yaml")
}

// What is written of each request: who asked for what, and how it was answered. Bodies are not.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: Metadata}]
`

// writeFiles writes what kube-apiserver takes as files.
func writeFiles(o *options) error {
	tokens, err := o.allTokens()
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.tokensFile(), []byte(tokens), 0o600); err != nil {
		return err
	}
	return os.WriteFile(o.auditPolicyFile(), []byte(auditPolicy), 0o600)
}

// allTokens are the users that have fixed tokens, one in each line.
func (o *options) allTokens() (string, error) {
	text := ""
	if o.tokenFile != "" {
		file, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return "", err
		}
		text = strings.TrimRight(string(file), "\n") + "\n"
	}
	for _, line := range o.tokens {
		if fields, err := csv.NewReader(strings.NewReader(line)).Read(); err != nil || len(fields) < 3 {
			return "", errors.New(`--token has to be TOKEN,USER,UID[,"GROUP,..."]`)
		}
		text += line + "\n"
	}
	return text, nil
}
