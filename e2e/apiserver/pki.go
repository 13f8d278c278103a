package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// How long certificates are valid: longer than any test, shorter than for ever.
const validity = 30 * 24 * time.Hour

// pki are the keys of a cluster, each in a file.
type pki struct {
	// The authority of both the servers and the admin.
	caCert, caKey string
	// For 127.0.0.1 and localhost, whatever the port: also for a proxy before the server.
	serverCert, serverKey string
	// A user in the group system:masters.
	adminCert, adminKey string
	// Signs the tokens of service accounts.
	accountKey string
}

// openPKI reads the keys in a folder, or makes new ones if there are none.
func openPKI(folder string) (*pki, error) {
	file := func(name string) string { return filepath.Join(folder, name) }
	keys := &pki{
		caCert: file("ca.crt"), caKey: file("ca.key"),
		serverCert: file("server.crt"), serverKey: file("server.key"),
		adminCert: file("admin.crt"), adminKey: file("admin.key"),
		accountKey: file("account.key"),
	}
	// It is written last.
	if _, err := os.Stat(keys.accountKey); !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	return keys, keys.make()
}

func (k *pki) make() error {
	ca := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "kube-informer-e2e"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	server := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"localhost"},
	}
	admin := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	caKey, err := issue(ca, nil, nil, k.caCert, k.caKey)
	if err != nil {
		return err
	}
	if _, err := issue(server, ca, caKey, k.serverCert, k.serverKey); err != nil {
		return err
	}
	if _, err := issue(admin, ca, caKey, k.adminCert, k.adminKey); err != nil {
		return err
	}
	accountKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(k.accountKey, accountKey)
}

// issue writes a certificate and its new key. Without an authority it signs itself.
func issue(cert, ca *x509.Certificate, caKey *ecdsa.PrivateKey, certFile, keyFile string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if ca == nil {
		ca, caKey = cert, key
	}
	if cert.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	cert.NotBefore = time.Now().Add(-time.Hour)
	cert.NotAfter = time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return key, writeKey(keyFile, key)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(file, "EC PRIVATE KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if text == nil {
		return fmt.Errorf("cannot encode %s", file)
	}
	return os.WriteFile(file, text, 0o600)
}
