package agent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"argosy.dev/devcluster/internal/process"
)

// newServer is the nodes' own server: what the API server asks a kubelet, it asks here. It answers
// nobody without a certificate of the cluster's authority for the API server itself, since exec is a
// shell as the user who runs the cluster; only /healthz is open.
func newServer(o options, streams process.Streams) (*http.Server, error) {
	pki := filepath.Join(o.dir, "pki")
	certificate, err := tls.LoadX509KeyPair(filepath.Join(pki, "agent.crt"), filepath.Join(pki, "agent.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("pki/ca.crt holds no certificate")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	serveStreams(mux, streams)
	return &http.Server{
		Addr:              o.listen,
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			ClientCAs:    pool,
			ClientAuth:   tls.VerifyClientCertIfGiven,
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"http/1.1"}, // exec and port-forward upgrade the connection
		},
	}, nil
}
