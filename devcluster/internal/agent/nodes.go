package agent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// OwnedLabel marks nodes that the agent made, so that it removes no other.
const OwnedLabel = "argosy.dev/devcluster"

// ensureNodes makes node-1 … node-count and removes those of an earlier start that are too many.
func ensureNodes(ctx context.Context, client kubernetes.Interface, cluster string, count int) error {
	wanted := map[string]bool{}
	for n := 1; n <= count; n++ {
		node := describeNode(cluster, n)
		wanted[node.Name] = true
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	found, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: OwnedLabel + "=" + cluster})
	if err != nil {
		return err
	}
	for _, node := range found.Items {
		if wanted[node.Name] {
			continue
		}
		err := client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// describeNode is large enough that no request is refused for want of room. Its status is given at
// creation, as a kubelet does; kwok makes it Ready.
func describeNode(cluster string, n int) *corev1.Node {
	name := fmt.Sprintf("node-%d", n)
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("256"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("10k"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				OwnedLabel:                 cluster,
				corev1.LabelHostname:       name,
				corev1.LabelArchStable:     "amd64",
				corev1.LabelOSStable:       "linux",
				corev1.LabelTopologyRegion: "local",
				corev1.LabelTopologyZone:   "local-" + string(rune('a'+(n-1)%3)),
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    room,
			Allocatable: room,
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: "amd64", OperatingSystem: "linux", OSImage: "argosy devcluster",
				KernelVersion: "simulated", ContainerRuntimeVersion: "argosy://1", KubeletVersion: "v1.35.4",
			},
		},
	}
}
