// Command argosy-devcluster is a whole Kubernetes cluster in one file.
//
// Each subcommand is one process of the cluster. Only the command that was asked for is constructed:
// building two of Kubernetes' commands in one process closes a signal channel twice and panics.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"argosy.dev/devcluster/internal/agent"
	"argosy.dev/devcluster/internal/components"
	"argosy.dev/devcluster/internal/prepare"
	"argosy.dev/devcluster/internal/proxy"
	"argosy.dev/devcluster/internal/sandbox"
)

type command struct {
	summary string
	run     func(args []string) int
}

var commands = map[string]command{
	"etcd":                    {"the store", components.Etcd},
	"kube-apiserver":          {"the API server", components.APIServer},
	"kube-controller-manager": {"all of Kubernetes' controllers", components.ControllerManager},
	"kube-scheduler":          {"the scheduler", components.Scheduler},
	"kwok":                    {"simulated nodes and pods", components.Kwok},
	"proxy":                   {"an API server that behaves badly, for tests", proxy.Main},
	"container":               {"become a process in a file system of its own (the agent starts it)", sandbox.Main},
	"agent":                   {"nodes, volumes, pods run as processes, and the nodes' own server", agent.Main},
	"prepare":                 {"write certificates, kubeconfigs and the simulation's stages", prepare.Main},
}

func main() {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		usage()
		os.Exit(2)
	}
	name := os.Args[1]
	chosen, ok := commands[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "argosy-devcluster: there is no command %q\n", name)
		usage()
		os.Exit(2)
	}
	// The commands of Kubernetes, etcd and kwok read os.Args themselves.
	os.Args = append([]string{name}, os.Args[2:]...)
	os.Exit(chosen.run(os.Args[1:]))
}

func usage() {
	names := make([]string, 0, len(commands))
	for name := range commands {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintln(os.Stderr, "usage: argosy-devcluster COMMAND [flags]")
	for _, name := range names {
		fmt.Fprintf(os.Stderr, "  %-24s %s\n", name, commands[name].summary)
	}
}
