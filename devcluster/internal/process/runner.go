// Package process runs pods for real: the containers of a pod that is annotated
// `argosy.dev/run: process` become processes of this machine, with folders for its volumes.
//
// There are no images: a container needs a command that this machine has. Processes share the machine's
// network and user; hostPath volumes are refused, as is everything that would need a container runtime.
package process

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"

	"argosy.dev/devcluster/internal/sandbox"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Annotation and Value mark the pods that are run for real.
const (
	Annotation = "argosy.dev/run"
	Value      = "process"
)

// Runner runs pods.
type Runner struct {
	client  kubernetes.Interface
	dir     string // the cluster's folder
	api     string // host:port of the API server
	address string // what pods have for an address: the machine's, since they use its network
	private bool   // whether processes get a file system of their own

	mu      sync.Mutex
	pods    map[types.UID]*pod
	ctx     context.Context
	running sync.WaitGroup
}

// New registers with the factory's pods.
func New(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, dir, api string) (*Runner, error) {
	scratch := filepath.Join(dir, "pods")
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return nil, err
	}
	// Argo's and Tekton's executors, when the cluster was started with them
	if err := os.MkdirAll(filepath.Join(dir, "tools"), 0o755); err != nil {
		return nil, err
	}
	r := &Runner{
		client: client, dir: dir, api: api, address: machineAddress(), private: sandbox.Works(scratch),
		pods: map[types.UID]*pod{}, ctx: ctx,
	}
	informer := factory.Core().V1().Pods().Informer()
	// thousands of simulated pods are of no interest here: what is kept of them is their names
	if err := informer.SetTransform(forget); err != nil {
		return nil, err
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { r.see(obj.(*corev1.Pod)) },
		UpdateFunc: func(_, obj any) { r.see(obj.(*corev1.Pod)) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if last, ok := obj.(*corev1.Pod); ok {
				r.lose(last)
			}
		},
	})
	klog.InfoS("Pods can be run as processes", "privateFileSystem", r.private, "address", r.address)
	return r, err
}

// Wait returns when all processes have ended; the context given to New is over by then.
func (r *Runner) Wait() { r.running.Wait() }

func forget(obj any) (any, error) {
	found, ok := obj.(*corev1.Pod)
	if !ok || found.Annotations[Annotation] == Value {
		return obj, nil
	}
	slim := &corev1.Pod{}
	slim.Namespace, slim.Name, slim.UID, slim.ResourceVersion = found.Namespace, found.Name, found.UID, found.ResourceVersion
	slim.Spec.NodeName = found.Spec.NodeName
	return slim, nil
}

// see is told of every version of every pod.
func (r *Runner) see(seen *corev1.Pod) {
	if seen.Annotations[Annotation] != Value || seen.Spec.NodeName == "" || r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.pods[seen.UID]; ok {
		known.update(seen)
		return
	}
	ended := seen.Status.Phase == corev1.PodSucceeded || seen.Status.Phase == corev1.PodFailed
	if ended && seen.DeletionTimestamp == nil {
		return
	}
	fresh := newPod(r, seen, ended)
	r.pods[seen.UID] = fresh
	r.running.Go(func() { fresh.live(r.ctx) })
	fresh.update(seen)
}

// lose is told of pods that are gone, however that came.
func (r *Runner) lose(gone *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.pods[gone.UID]; ok {
		known.remove()
		delete(r.pods, gone.UID)
	}
}

// Find returns a pod that is run here, nil when there is none of that name.
func (r *Runner) find(namespace, name string) *pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.pods {
		if current := known.get(); current.Namespace == namespace && current.Name == name {
			return known
		}
	}
	return nil
}

// machineAddress is an address of this machine that an EndpointSlice may hold; loopback may not.
func machineAddress() string {
	addresses, err := net.InterfaceAddrs()
	if err == nil {
		for _, address := range addresses {
			if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
				return network.IP.String()
			}
		}
	}
	return "10.245.0.1" // a machine without a network: nobody can connect, but pods are well formed
}
