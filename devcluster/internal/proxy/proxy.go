// Package proxy stands in front of the API server and makes trouble, so that others can be tested
// against a real server that behaves badly: it refuses what an admission webhook would be asked about
// while nothing serves that webhook, and it injects the faults that it is told to.
//
// Everything else is forwarded as it came, under the caller's own name: who showed a client
// certificate is vouched for with the front proxy's certificate, tokens pass through.
package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Main is the subcommand.
func Main(args []string) int {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	dir := flags.String("dir", "", "the cluster's folder")
	server := flags.String("server", "", "URL of the API server")
	listen := flags.String("listen", "", "address to listen on")
	webhooks := flags.Bool("webhooks", false, "refuse what an admission webhook that nobody serves would be asked about")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *dir == "" || *server == "" || *listen == "" {
		fmt.Fprintln(os.Stderr, "proxy: --dir, --server and --listen are required")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir, *server, *listen, *webhooks); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, dir, server, listen string, webhooks bool) error {
	p, err := newProxy(dir, server)
	if err != nil {
		return err
	}
	if webhooks {
		if p.gate, err = newGate(ctx, filepath.Join(dir, "pki", "agent-client.kubeconfig"), p); err != nil {
			return err
		}
	}
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "pki", "proxy.crt"), filepath.Join(dir, "pki", "proxy.key"))
	if err != nil {
		return err
	}
	s := &http.Server{
		Addr:              listen,
		Handler:           p,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			ClientCAs:    p.authority,
			ClientAuth:   tls.VerifyClientCertIfGiven,
			MinVersion:   tls.VersionTLS12,
		},
	}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.ListenAndServeTLS("", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Proxy forwards requests, counts them, and spoils those that it is told to.
type Proxy struct {
	authority *x509.CertPool
	admin     string // the bearer token that may use the control endpoint
	upstream  *url.URL
	direct    http.RoundTripper // for callers with a token, or with nothing
	vouching  http.RoundTripper // for callers with a certificate
	upgrading [2]http.RoundTripper
	requests  *request.RequestInfoFactory
	faults    *Faults
	gate      *gate
}

func newProxy(dir, server string) (*Proxy, error) {
	pki := filepath.Join(dir, "pki")
	upstream, err := url.Parse(server)
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
	tokens, err := os.ReadFile(filepath.Join(pki, "tokens.csv"))
	if err != nil {
		return nil, err
	}
	front, err := tls.LoadX509KeyPair(filepath.Join(pki, "front-proxy-client.crt"), filepath.Join(pki, "front-proxy-client.key"))
	if err != nil {
		return nil, err
	}
	plain := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	vouched := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{front}}
	return &Proxy{
		authority: pool,
		admin:     strings.SplitN(string(tokens), ",", 2)[0],
		upstream:  upstream,
		direct:    transport(plain, true),
		vouching:  transport(vouched, true),
		upgrading: [2]http.RoundTripper{transport(plain, false), transport(vouched, false)},
		requests: &request.RequestInfoFactory{
			APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
		},
		faults: newFaults(),
	}, nil
}

// transport goes over HTTP/2, or over HTTP/1.1 for connections that are upgraded to something else.
func transport(config *tls.Config, h2 bool) http.RoundTripper {
	config = config.Clone()
	if !h2 {
		config.NextProtos = []string{"http/1.1"}
	}
	return &http.Transport{
		TLSClientConfig: config, ForceAttemptHTTP2: h2, MaxIdleConnsPerHost: 256, DisableCompression: true,
	}
}

// ServeHTTP is the way of every request: control, faults, webhooks, the API server.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, controlPath) {
		p.control(w, r)
		return
	}
	info, err := p.requests.NewRequestInfo(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	counted := p.faults.count(w, r, info)
	defer counted.done()
	if !p.spoil(counted, r, info) {
		return
	}
	if p.gate != nil {
		if refused := p.gate.admit(r, info); refused != nil {
			writeStatus(counted, refused.Status())
			return
		}
	}
	p.forward(counted, r, info)
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
	reverse := &httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(p.upstream)
			identify(out.Out, r)
			if configuresWebhooks(info) {
				out.Out.Header.Del("Accept-Encoding") // the gate reads the answer
			}
		},
		Transport:     p.transportFor(r),
		FlushInterval: -1, // a watch is of no use when it is buffered
		ModifyResponse: func(answer *http.Response) error {
			if p.gate != nil {
				p.gate.written(info, answer)
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	reverse.ServeHTTP(w, r)
}

func (p *Proxy) transportFor(r *http.Request) http.RoundTripper {
	certified := r.TLS != nil && len(r.TLS.VerifiedChains) > 0
	switch {
	case r.Header.Get("Upgrade") != "" && certified:
		return p.upgrading[1]
	case r.Header.Get("Upgrade") != "":
		return p.upgrading[0]
	case certified:
		return p.vouching
	default:
		return p.direct
	}
}

// identify says who the caller is in the headers that the API server believes from a front proxy; what
// a caller says of itself in them is thrown away.
func identify(out, in *http.Request) {
	for name := range out.Header {
		if strings.HasPrefix(name, "X-Remote-") || name == "X-Forwarded-For" {
			out.Header.Del(name)
		}
	}
	if in.TLS == nil || len(in.TLS.VerifiedChains) == 0 {
		return
	}
	subject := in.TLS.VerifiedChains[0][0].Subject
	out.Header.Set("X-Remote-User", subject.CommonName)
	for _, group := range subject.Organization {
		out.Header.Add("X-Remote-Group", group)
	}
}
