// Package components starts the programs that the cluster is made of, unchanged, as they are upstream.
package components

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// Etcd runs etcd; it ends the process itself when it fails.
func Etcd([]string) int {
	etcdmain.Main(os.Args)
	return 0
}

// APIServer runs kube-apiserver.
func APIServer([]string) int { return cli.Run(apiserver.NewAPIServerCommand()) }

// ControllerManager runs kube-controller-manager.
func ControllerManager([]string) int { return cli.Run(controllers.NewControllerManagerCommand()) }

// Scheduler runs kube-scheduler.
func Scheduler([]string) int { return cli.Run(scheduler.NewSchedulerCommand()) }
