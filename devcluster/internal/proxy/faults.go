package proxy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Fault is something that goes wrong with the requests that it matches. Empty conditions match all.
type Fault struct {
	Verb      string `json:"verb,omitempty"`      // get, list, watch, create, update, patch, delete, deletecollection
	Resource  string `json:"resource,omitempty"`  // plural, such as deployments
	Namespace string `json:"namespace,omitempty"` //
	Name      string `json:"name,omitempty"`      //
	Path      string `json:"path,omitempty"`      // regular expression, searched in path?query
	After     int    `json:"after,omitempty"`     // so many matching requests go well first
	Times     int    `json:"times,omitempty"`     // and so many go wrong then; 0 is all

	// Do is what happens: delay (DelayMs, JitterMs), drop (the connection, before the server hears of
	// it), lose (the answer, after the server has acted), status (Code, RetryAfter), expire (a watch
	// says 410 in its stream), cut (an answer or a watch ends after DelayMs, in the middle).
	Do         string `json:"do"`
	DelayMs    int    `json:"delayMs,omitempty"`
	JitterMs   int    `json:"jitterMs,omitempty"`
	Code       int    `json:"code,omitempty"`
	RetryAfter int    `json:"retryAfter,omitempty"`

	Seen int `json:"seen"` // how many requests matched
	Hits int `json:"hits"` // how many of them went wrong

	path *regexp.Regexp
}

// Faults are the faults in force, and what was counted.
type Faults struct {
	mu     sync.Mutex
	faults []*Fault
	counts map[string]int
}

func newFaults() *Faults { return &Faults{counts: map[string]int{}} }

var knownFaults = map[string]bool{"delay": true, "drop": true, "lose": true, "status": true, "expire": true, "cut": true}

// replace puts other faults in force; the caller holds the lock.
func (f *Faults) replace(fresh []*Fault) error {
	for _, fault := range fresh {
		if !knownFaults[fault.Do] {
			return fmt.Errorf("a fault cannot do %q", fault.Do)
		}
		if fault.Do == "status" && (fault.Code < 400 || fault.Code > 599) {
			return fmt.Errorf("a status fault needs a code between 400 and 599, not %d", fault.Code)
		}
		compiled, err := regexp.Compile(fault.Path)
		if err != nil {
			return err
		}
		fault.path, fault.Seen, fault.Hits = compiled, 0, 0
	}
	f.faults = fresh
	return nil
}

// hit returns the faults that this request meets.
func (f *Faults) hit(r *http.Request, info *request.RequestInfo) []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var met []Fault
	for _, fault := range f.faults {
		if !fault.matches(r, info) {
			continue
		}
		fault.Seen++
		if fault.Seen > fault.After && (fault.Times == 0 || fault.Hits < fault.Times) {
			fault.Hits++
			met = append(met, *fault)
		}
	}
	return met
}

func (f *Fault) matches(r *http.Request, info *request.RequestInfo) bool {
	same := func(want, have string) bool { return want == "" || want == have }
	return same(f.Verb, info.Verb) && same(f.Resource, info.Resource) && same(f.Namespace, info.Namespace) &&
		same(f.Name, info.Name) && f.path.MatchString(r.URL.RequestURI())
}

// spoil does what the faults say; it returns whether the request is to be forwarded.
func (p *Proxy) spoil(w *counted, r *http.Request, info *request.RequestInfo) bool {
	for _, fault := range p.faults.hit(r, info) {
		switch fault.Do {
		case "delay":
			pause(r, fault.wait())
		case "drop":
			panic(http.ErrAbortHandler) // net/http closes the connection, or resets the stream
		case "lose":
			w.lost = true
		case "cut":
			w.cutAfter(fault.wait())
		case "status":
			if fault.RetryAfter > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
			}
			writeStatus(w, describe(fault))
			return false
		case "expire":
			expire(w)
			return false
		}
	}
	return true
}

func (f *Fault) wait() time.Duration {
	extra := 0
	if f.JitterMs > 0 {
		extra = rand.IntN(f.JitterMs)
	}
	return time.Duration(f.DelayMs+extra) * time.Millisecond
}

func pause(r *http.Request, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// describe is the Status that the API server itself sends with such a code.
func describe(fault Fault) metav1.Status {
	reasons := map[int]metav1.StatusReason{
		403: metav1.StatusReasonForbidden, 409: metav1.StatusReasonConflict, 410: metav1.StatusReasonExpired,
		429: metav1.StatusReasonTooManyRequests, 500: metav1.StatusReasonInternalError,
		503: metav1.StatusReasonServiceUnavailable, 504: metav1.StatusReasonTimeout,
	}
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(fault.Code), Reason: reasons[fault.Code],
		Message: fmt.Sprintf("%s, as a fault of the proxy asks", http.StatusText(fault.Code)),
	}
	if fault.RetryAfter > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(fault.RetryAfter)}
	}
	return status
}

func writeStatus(w http.ResponseWriter, status metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// expire answers a watch the way the API server does when the version asked for is too old.
func expire(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	status := describe(Fault{Code: http.StatusGone})
	status.Message = "too old resource version, as a fault of the proxy asks"
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": status})
}
