package main

import (
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes a kubeconfig for the admin that needs no other file.
func writeKubeconfig(file, url string, keys *pki) error {
	const name = "e2e"
	cluster, user, context := api.NewCluster(), api.NewAuthInfo(), api.NewContext()
	cluster.Server = url
	context.Cluster, context.AuthInfo = name, name
	for file, into := range map[string]*[]byte{
		keys.caCert:    &cluster.CertificateAuthorityData,
		keys.adminCert: &user.ClientCertificateData,
		keys.adminKey:  &user.ClientKeyData,
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		*into = data
	}
	config := api.NewConfig()
	config.Clusters[name], config.AuthInfos[name], config.Contexts[name] = cluster, user, context
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, file)
}

// adminConfig is what a client of this process needs to be the admin.
func adminConfig(url string, keys *pki) *rest.Config {
	return &rest.Config{
		Host:            url,
		TLSClientConfig: rest.TLSClientConfig{CAFile: keys.caCert, CertFile: keys.adminCert, KeyFile: keys.adminKey},
		// Limits are for those who are not alone.
		QPS: -1,
	}
}
