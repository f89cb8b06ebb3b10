// Package agent is what a node would be if it were there: it registers the simulated nodes, makes
// volumes, runs the pods that ask to be run for real, and answers for logs, exec and port-forward.
package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"argosy.dev/devcluster/internal/process"
	"argosy.dev/devcluster/internal/provision"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

type options struct {
	dir     string
	cluster string
	nodes   int
	listen  string
}

// Main is the subcommand.
func Main(args []string) int {
	var o options
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "the cluster's folder")
	flags.StringVar(&o.cluster, "name", "default", "the cluster's name")
	flags.IntVar(&o.nodes, "nodes", 3, "how many nodes there are")
	flags.StringVar(&o.listen, "listen", "", "address of the nodes' own server")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.dir == "" || o.listen == "" || o.nodes < 1 {
		fmt.Fprintln(os.Stderr, "agent: --dir and --listen are required, and at least one node")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, o options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(o.dir, "pki", "agent-client.kubeconfig"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000 // one client for all nodes: a kubelet's limits are a node's
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "argosy-devcluster-agent"))
	if err != nil {
		return err
	}
	if err := ensureNodes(ctx, client, o.cluster, o.nodes); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	if err := provision.EnsureStorageClass(ctx, client); err != nil {
		return fmt.Errorf("storage class: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	volumes, err := provision.New(client, factory, filepath.Join(o.dir, "volumes"))
	if err != nil {
		return err
	}
	runner, err := process.New(ctx, client, factory, o.dir, strings.TrimPrefix(config.Host, "https://"))
	if err != nil {
		return fmt.Errorf("pods as processes: %w", err)
	}
	server, err := newServer(o, process.Streams{Runner: runner})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	failed := make(chan error, 1)
	go func() {
		if err := server.ListenAndServeTLS("", ""); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	var running sync.WaitGroup
	running.Go(func() { volumes.Run(ctx) })
	klog.InfoS("The agent is ready", "cluster", o.cluster, "nodes", o.nodes)
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop()
	_ = server.Close()
	running.Wait()
	runner.Wait()
	return err
}
