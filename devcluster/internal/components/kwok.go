package components

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/client"
)

// Kwok runs kwok's controllers on all nodes with the stages of a file.
//
// Its own command is not used: its server (logs, exec, port-forward) does not compile against
// Kubernetes 1.35 and authenticates nobody, while exec is a shell as the user who runs the cluster.
// The agent's server stands in for it.
func Kwok(args []string) int {
	flags := flag.NewFlagSet("kwok", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "the API server and who we are there")
	file := flags.String("config", "", "file of Stages, and a KwokConfiguration")
	cidr := flags.String("cidr", "10.244.0.0/16", "addresses of pods")
	nodeIP := flags.String("node-ip", "127.0.0.1", "address of all nodes")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := simulate(ctx, *kubeconfig, *file, *cidr, *nodeIP)
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		return 1
	}
	return 0
}

func simulate(ctx context.Context, kubeconfig, file, cidr, nodeIP string) error {
	ctx = log.NewContext(ctx, log.NewLogger(os.Stderr, log.LevelWarn))
	objects, err := config.Load(ctx, file)
	if err != nil {
		return err
	}
	stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, stage := range config.FilterWithType[*internalversion.Stage](objects) {
		stages[stage.Spec.ResourceRef] = append(stages[stage.Spec.ResourceRef], stage)
	}
	if len(stages) == 0 {
		return fmt.Errorf("%s holds no Stage", file)
	}
	clients, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	id, err := controllers.Identity()
	if err != nil {
		return err
	}
	clients.Clock, clients.ID, clients.LocalStages = clock.RealClock{}, id, stages
	clients.ManageAllNodes, clients.CIDR, clients.NodeIP = true, cidr, nodeIP
	clients.PodPlayStageParallelism = 16 // as many writes at a time as two cores of API server take
	clients.NodePlayStageParallelism = 4
	clients.NodeLeaseDurationSeconds = 40 // a kubelet's
	clients.NodeLeaseParallelism = 4
	clients.PodsOnNodeSyncParallelism = 4
	controller, err := controllers.NewController(clients)
	if err != nil {
		return err
	}
	if err := controller.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// connect returns a controller's configuration with its clients in it.
func connect(kubeconfig string) (controllers.Config, error) {
	var clients controllers.Config
	set, err := client.NewClientset("", kubeconfig)
	if err != nil {
		return clients, err
	}
	restConfig, err := set.ToRESTConfig()
	if err != nil {
		return clients, err
	}
	if clients.DynamicClient, err = set.ToDynamicClient(); err != nil {
		return clients, err
	}
	if clients.RESTMapper, err = set.ToRESTMapper(); err != nil {
		return clients, err
	}
	if clients.RESTClient, err = rest.RESTClientFor(restConfig); err != nil {
		return clients, err
	}
	if clients.TypedClient, err = kubernetes.NewForConfig(restConfig); err != nil {
		return clients, err
	}
	if clients.TypedKwokClient, err = versioned.NewForConfig(restConfig); err != nil {
		return clients, err
	}
	clients.ImpersonatingDynamicClient = set.ToImpersonatingDynamicClient()
	clients.ImpersonatingTypedClient = set.ToImpersonatingTypedClient()
	return clients, nil
}
