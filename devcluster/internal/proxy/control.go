package proxy

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

const controlPath = "/.argosy/"

// control lets the cluster's administrator set faults (PUT, GET, DELETE /.argosy/faults) and read what
// was counted since it was last deleted (GET, DELETE /.argosy/requests).
func (p *Proxy) control(w http.ResponseWriter, r *http.Request) {
	if !p.isAdmin(r) {
		http.Error(w, "only the cluster's administrator controls the proxy", http.StatusForbidden)
		return
	}
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	switch r.Method + " " + strings.TrimPrefix(r.URL.Path, controlPath) {
	case "PUT faults":
		p.setFaults(w, r)
	case "GET faults":
		writeJSON(w, p.faults.faults)
	case "DELETE faults":
		p.faults.faults = nil
		writeJSON(w, []*Fault{})
	case "GET requests":
		writeJSON(w, p.faults.counts)
	case "DELETE requests":
		p.faults.counts = map[string]int{}
		writeJSON(w, p.faults.counts)
	default:
		http.NotFound(w, r)
	}
}

func (p *Proxy) setFaults(w http.ResponseWriter, r *http.Request) {
	var fresh []*Fault
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&fresh)
	if err == nil {
		err = p.faults.replace(fresh)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, fresh)
}

func (p *Proxy) isAdmin(r *http.Request) bool {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return slices.Contains(r.TLS.VerifiedChains[0][0].Subject.Organization, "system:masters")
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	return subtle.ConstantTimeCompare([]byte(token), []byte(p.admin)) == 1
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
