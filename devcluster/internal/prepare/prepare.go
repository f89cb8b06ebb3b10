// Package prepare writes what a cluster needs before its first process starts: a certificate
// authority, certificates, tokens, kubeconfigs, and the stages by which kwok simulates nodes and pods.
//
// What is there and good for another month is kept, so that a cluster that starts again keeps its
// identity; kubeconfigs and stages are written anew, because ports may have changed.
package prepare

import (
	"crypto/rand"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// Options say which cluster is prepared.
type Options struct {
	Dir       string // the cluster's folder
	Name      string // its name, as contexts in the kubeconfig have it
	Server    string // URL of the API server
	AgentPort int    // where the nodes' own server listens
}

// Main is the subcommand.
func Main(args []string) int {
	var o Options
	flags := flag.NewFlagSet("prepare", flag.ContinueOnError)
	flags.StringVar(&o.Dir, "dir", "", "the cluster's folder")
	flags.StringVar(&o.Name, "name", "default", "the cluster's name")
	flags.StringVar(&o.Server, "server", "", "URL of the API server")
	flags.IntVar(&o.AgentPort, "agent-port", 0, "port of the nodes' own server")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.Dir == "" || o.Server == "" || o.AgentPort == 0 {
		fmt.Fprintln(os.Stderr, "prepare: --dir, --server and --agent-port are required")
		return 2
	}
	if err := Run(o); err != nil {
		fmt.Fprintln(os.Stderr, "prepare:", err)
		return 1
	}
	return 0
}

// Run writes all files below o.Dir.
func Run(o Options) error {
	pki := filepath.Join(o.Dir, "pki")
	if err := os.MkdirAll(pki, 0o700); err != nil {
		return err
	}
	if err := writePKI(pki); err != nil {
		return err
	}
	token, err := adminToken(pki)
	if err != nil {
		return err
	}
	if err := writeKubeconfigs(o, pki, token); err != nil {
		return err
	}
	return writeStages(o)
}

// adminToken returns the bearer token of the cluster's administrator, making it on first use.
func adminToken(pki string) (string, error) {
	file := filepath.Join(pki, "tokens.csv")
	if data, err := os.ReadFile(file); err == nil {
		var token string
		if _, err := fmt.Sscanf(string(data), "%64s", &token); err == nil && len(token) == 64 {
			return token, nil
		}
	}
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	token := hex.EncodeToString(raw)
	return token, replace(file, []byte(token+`,argosy-admin,argosy-admin,"system:masters"`+"\n"))
}

// replace writes a file that only its owner reads, whole or not at all.
func replace(path string, data []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*") // made 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	if _, err := temporary.Write(data); err != nil {
		temporary.Close()
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
