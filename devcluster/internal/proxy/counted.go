package proxy

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// counted is an answer on its way: its code is counted, and faults may lose it or cut it short.
type counted struct {
	http.ResponseWriter
	faults *Faults
	key    string
	code   int
	lost   bool

	mu    sync.Mutex
	over  bool
	timer *time.Timer
}

func (f *Faults) count(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) *counted {
	what := info.Resource
	if info.Subresource != "" {
		what += "/" + info.Subresource
	}
	if !info.IsResourceRequest {
		what = r.URL.Path
	}
	return &counted{ResponseWriter: w, faults: f, key: info.Verb + " " + what}
}

// Unwrap lets net/http find what the connection can do: flush, hijack.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader is where an answer that is to be lost is lost: the server has acted by now.
func (c *counted) WriteHeader(code int) {
	c.code = code
	if c.lost && code >= 200 {
		panic(http.ErrAbortHandler)
	}
	c.ResponseWriter.WriteHeader(code)
}

func (c *counted) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		panic(http.ErrAbortHandler)
	}
	if c.code == 0 {
		c.WriteHeader(http.StatusOK)
	}
	return c.ResponseWriter.Write(data)
}

// FlushError writes what is buffered, as net/http's own writer does.
func (c *counted) FlushError() error {
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// cutAfter ends the answer after a while, wherever it is.
func (c *counted) cutAfter(length time.Duration) {
	c.timer = time.AfterFunc(length, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.over = true
		_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(time.Now())
	})
}

// done counts the answer; a code of 0 is a connection that was dropped.
func (c *counted) done() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	c.faults.counts[c.key+" "+strconv.Itoa(c.code)]++
}
