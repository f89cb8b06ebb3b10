package prepare

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	lifetime = 365 * 24 * time.Hour // a development cluster is not kept longer
	reserve  = 30 * 24 * time.Hour  // a certificate with less left is made anew
)

type pair struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

type leaf struct {
	file   string
	name   string   // common name: the user, for a client certificate
	groups []string // organizations: the user's groups
	hosts  []string // for serving
	ca     string
}

var loopback = []string{"localhost", "127.0.0.1", "::1"}

var leaves = []leaf{
	{file: "apiserver", name: "kube-apiserver", ca: "ca", hosts: append([]string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "10.96.0.1",
	}, loopback...)},
	{file: "agent", name: "argosy-devcluster-agent", ca: "ca", hosts: loopback},
	{file: "proxy", name: "argosy-devcluster-proxy", ca: "ca", hosts: loopback},
	{file: "components", name: "kube-components", ca: "ca", hosts: loopback},
	{file: "etcd", name: "etcd", ca: "etcd-ca", hosts: loopback},
	{file: "etcd-client", name: "kube-apiserver", ca: "etcd-ca"},
	{file: "front-proxy-client", name: "front-proxy-client", ca: "front-proxy-ca"},
	{file: "kubelet-client", name: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}, ca: "ca"},
	{file: "admin", name: "argosy-admin", groups: []string{"system:masters"}, ca: "ca"},
	{file: "agent-client", name: "argosy-devcluster-agent", groups: []string{"system:masters"}, ca: "ca"},
	{file: "kwok", name: "kwok", groups: []string{"system:masters"}, ca: "ca"},
	{file: "controller-manager", name: "system:kube-controller-manager", ca: "ca"},
	{file: "scheduler", name: "system:kube-scheduler", ca: "ca"},
}

// writePKI makes three authorities (the cluster's, etcd's, the front proxy's: a client of one is
// nobody to another), the certificates below them, and the key that signs ServiceAccount tokens.
func writePKI(dir string) error {
	authorities := map[string]pair{}
	renewed := map[string]bool{}
	for _, name := range []string{"ca", "etcd-ca", "front-proxy-ca"} {
		made, fresh, err := authority(dir, name)
		if err != nil {
			return err
		}
		authorities[name], renewed[name] = made, fresh
	}
	for _, l := range leaves {
		if _, err := load(dir, l.file); err == nil && !renewed[l.ca] {
			continue
		}
		if err := issue(dir, l, authorities[l.ca]); err != nil {
			return fmt.Errorf("certificate %s: %w", l.file, err)
		}
	}
	return signingKey(dir)
}

func authority(dir, name string) (pair, bool, error) {
	if found, err := load(dir, name); err == nil {
		return found, false, nil
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "argosy devcluster " + name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	made, err := sign(dir, name, template, nil)
	return made, true, err
}

func issue(dir string, l leaf, ca pair) error {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: l.name, Organization: l.groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if len(l.hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range l.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	_, err := sign(dir, l.file, template, &ca)
	return err
}

// sign makes a key and a certificate; without a parent the certificate signs itself.
func sign(dir, name string, template *x509.Certificate, parent *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour) // a clock that is a little behind
	template.NotAfter = time.Now().Add(lifetime)
	signer := pair{template, key}
	if parent != nil {
		signer = *parent
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, key.Public(), signer.key)
	if err != nil {
		return pair{}, err
	}
	if err := writeKey(filepath.Join(dir, name+".key"), key); err != nil {
		return pair{}, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := replace(filepath.Join(dir, name+".crt"), block); err != nil {
		return pair{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	return pair{certificate, key}, err
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return replace(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// signingKey makes the key of ServiceAccount tokens; tokens in the store stay valid while it is kept.
func signingKey(dir string) error {
	path := filepath.Join(dir, "service-accounts.key")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	if err := replace(filepath.Join(dir, "service-accounts.pub"), block); err != nil {
		return err
	}
	return writeKey(path, key)
}

// load reads a certificate with its key, and refuses one that ends soon.
func load(dir, name string) (pair, error) {
	certificatePEM, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	if err != nil {
		return pair{}, err
	}
	keyPEM, err := os.ReadFile(filepath.Join(dir, name+".key"))
	if err != nil {
		return pair{}, err
	}
	certificateBlock, _ := pem.Decode(certificatePEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certificateBlock == nil || keyBlock == nil {
		return pair{}, errors.New("not PEM")
	}
	certificate, err := x509.ParseCertificate(certificateBlock.Bytes)
	if err != nil {
		return pair{}, err
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return pair{}, err
	}
	if time.Until(certificate.NotAfter) < reserve {
		return pair{}, errors.New("ends soon")
	}
	return pair{certificate, key}, nil
}
