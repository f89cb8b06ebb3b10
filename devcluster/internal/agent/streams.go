package agent

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"argosy.dev/devcluster/internal/process"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	protocols "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/kubelet/pkg/cri/streaming/portforward"
	"k8s.io/kubelet/pkg/cri/streaming/remotecommand"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // knows how a query becomes PodLogOptions
)

const (
	idle     = 4 * time.Hour // a kubelet's
	creation = 30 * time.Second
)

// serveStreams adds what the API server asks a kubelet for. Only the API server itself gets through.
func serveStreams(mux *http.ServeMux, streams process.Streams) {
	guarded := func(pattern string, handler http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !isAPIServer(r) {
				http.Error(w, "only the API server is answered", http.StatusForbidden)
				return
			}
			handler(w, r)
		})
	}
	logs := func(w http.ResponseWriter, r *http.Request) { serveLogs(w, r, streams) }
	exec := func(w http.ResponseWriter, r *http.Request) { serveExec(w, r, streams) }
	forward := func(w http.ResponseWriter, r *http.Request) { servePortForward(w, r, streams) }
	guarded("/containerLogs/{namespace}/{pod}/{container}", logs)
	guarded("/exec/{namespace}/{pod}/{container}", exec)
	guarded("/exec/{namespace}/{pod}/{uid}/{container}", exec)
	guarded("/portForward/{namespace}/{pod}", forward)
	guarded("/portForward/{namespace}/{pod}/{uid}", forward)
	guarded("/attach/{rest...}", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing can be attached to a process that runs already; use logs -f, or exec", http.StatusNotImplemented)
	})
}

func isAPIServer(r *http.Request) bool {
	return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 &&
		r.TLS.VerifiedChains[0][0].Subject.CommonName == "kube-apiserver-kubelet-client"
}

func serveLogs(w http.ResponseWriter, r *http.Request, streams process.Streams) {
	options := &corev1.PodLogOptions{}
	if err := legacyscheme.ParameterCodec.DecodeParameters(r.URL.Query(), corev1.SchemeGroupVersion, options); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := &flushed{writer: w}
	errs := io.Writer(out)
	if options.Stream != nil && *options.Stream == corev1.LogStreamStderr {
		err := streams.Logs(r.Context(), r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"), options, io.Discard, out)
		report(w, out, err)
		return
	}
	if options.Stream != nil && *options.Stream == corev1.LogStreamStdout {
		errs = io.Discard
	}
	err := streams.Logs(r.Context(), r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"), options, out, errs)
	report(w, out, err)
}

func report(w http.ResponseWriter, out *flushed, err error) {
	if err == nil {
		return
	}
	if out.started {
		fmt.Fprintln(out, err)
		return
	}
	http.Error(w, err.Error(), http.StatusBadRequest)
}

// flushed sends each line on its way at once.
type flushed struct {
	writer  http.ResponseWriter
	started bool
}

// Write implements io.Writer.
func (f *flushed) Write(data []byte) (int, error) {
	f.started = true
	n, err := f.writer.Write(data)
	return n, errors.Join(err, http.NewResponseController(f.writer).Flush())
}

func serveExec(w http.ResponseWriter, r *http.Request, streams process.Streams) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	target := process.Target{Streams: streams, Namespace: r.PathValue("namespace")}
	remotecommand.ServeExec(w, r, target, r.PathValue("pod"), types.UID(r.PathValue("uid")), r.PathValue("container"),
		r.URL.Query()["command"], options, idle, creation, protocols.SupportedStreamingProtocols)
}

func servePortForward(w http.ResponseWriter, r *http.Request, streams process.Streams) {
	options, err := portforward.NewV4Options(r)
	if err != nil && wsstream.IsWebSocketRequest(r) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	target := process.Target{Streams: streams, Namespace: r.PathValue("namespace")}
	portforward.ServePortForward(w, r, target, r.PathValue("pod"), types.UID(r.PathValue("uid")), options,
		idle, creation, portforward.SupportedProtocols)
}
