package process

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

const (
	firstBackOff = time.Second // a kubelet starts with ten; nobody waits for that in a test
	lastBackOff  = 30 * time.Second
)

// pod is one pod that is run, from its first sight to its end.
type pod struct {
	runner *Runner
	dir    string
	ended  bool // it had come to its end when it was first seen

	mu         sync.Mutex
	current    *corev1.Pod
	containers map[string]*container
	deleted    chan struct{} // closed when the pod is to end
	started    metav1.Time
	phase      corev1.PodPhase
	pushing    sync.Mutex
}

func newPod(r *Runner, seen *corev1.Pod, ended bool) *pod {
	p := &pod{
		runner: r, dir: filepath.Join(r.dir, "pods", string(seen.UID)), ended: ended,
		current: seen, containers: map[string]*container{}, deleted: make(chan struct{}),
		started: metav1.Now(), phase: corev1.PodPending,
	}
	if seen.Status.StartTime != nil {
		p.started = *seen.Status.StartTime
	}
	for n := range seen.Spec.InitContainers {
		p.containers[seen.Spec.InitContainers[n].Name] = newContainer(p, &seen.Spec.InitContainers[n], seen.Status.InitContainerStatuses)
	}
	for n := range seen.Spec.Containers {
		p.containers[seen.Spec.Containers[n].Name] = newContainer(p, &seen.Spec.Containers[n], seen.Status.ContainerStatuses)
	}
	return p
}

func (p *pod) get() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

func (p *pod) update(seen *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = seen
	if seen.DeletionTimestamp != nil {
		p.stop()
	}
}

// stop is called with the lock held.
func (p *pod) stop() {
	select {
	case <-p.deleted:
	default:
		close(p.deleted)
	}
}

// remove forgets a pod that is gone from the API server: its processes end, its folder goes.
func (p *pod) remove() {
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
}

// live is the pod's life. It ends with the pod's end, or with ctx.
func (p *pod) live(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-p.deleted:
			cancel()
		case <-stop:
		}
	}()
	if !p.ended {
		p.setPhase(p.run(ctx))
	}
	if p.runner.ctx.Err() != nil {
		return // the cluster stops: the pod's state is not its end, and is found by the next start
	}
	p.push()
	<-p.deletedOrStopped()
	p.finish()
}

func (p *pod) deletedOrStopped() <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-p.deleted:
		case <-p.runner.ctx.Done():
		}
	}()
	return over
}

// finish takes the pod out of the API server, as a kubelet does when all has ended.
func (p *pod) finish() {
	if p.runner.ctx.Err() != nil {
		return
	}
	now, uid := int64(0), p.get().UID
	err := p.runner.client.CoreV1().Pods(p.get().Namespace).Delete(context.Background(), p.get().Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		klog.ErrorS(err, "A pod that has ended could not be deleted", "pod", klog.KObj(p.get()))
	}
	if err := os.RemoveAll(p.dir); err != nil {
		klog.ErrorS(err, "A pod's folder could not be deleted", "folder", p.dir)
	}
}

// run starts everything in order and returns how it came out.
func (p *pod) run(ctx context.Context) corev1.PodPhase {
	if !p.makeVolumes(ctx) {
		return corev1.PodFailed
	}
	go p.refreshVolumes(ctx)
	p.push()
	sidecars, endSidecars := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer endSidecars()
	spec := p.get().Spec
	for n := range spec.InitContainers {
		c := p.containers[spec.InitContainers[n].Name]
		if c.isSidecar() {
			beside.Go(func() { c.supervise(sidecars, corev1.RestartPolicyAlways) })
			c.waitStarted(ctx)
			continue
		}
		policy := corev1.RestartPolicyOnFailure
		if spec.RestartPolicy == corev1.RestartPolicyNever {
			policy = corev1.RestartPolicyNever
		}
		if c.status.State.Terminated != nil && c.status.State.Terminated.ExitCode == 0 {
			continue // it was done before the cluster was stopped
		}
		if c.supervise(ctx, policy) != 0 {
			return corev1.PodFailed
		}
	}
	p.setPhase(corev1.PodRunning)
	var main sync.WaitGroup
	for n := range spec.Containers {
		c := p.containers[spec.Containers[n].Name]
		main.Go(func() { c.supervise(ctx, spec.RestartPolicy) })
	}
	main.Wait()
	for n := range spec.Containers {
		if p.containers[spec.Containers[n].Name].exitCode() != 0 {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

func (p *pod) setPhase(phase corev1.PodPhase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = phase
}

// makeVolumes makes the pod's folders; what is not there yet is waited for, as a kubelet does.
func (p *pod) makeVolumes(ctx context.Context) bool {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := p.writeVolumes(ctx)
		if err == nil {
			return true
		}
		for _, c := range p.containers {
			c.setWaiting("ContainerCreating", err.Error())
		}
		p.push()
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// push writes the pod's status. It is a strategic merge: the conditions of others stay.
func (p *pod) push() {
	p.pushing.Lock()
	defer p.pushing.Unlock()
	current := p.get()
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": current.UID}, "status": p.status(current),
	})
	if err != nil {
		klog.ErrorS(err, "A pod's status could not be written down", "pod", klog.KObj(current))
		return
	}
	for wait := 50 * time.Millisecond; wait < 10*time.Second; wait *= 2 {
		_, err = p.runner.client.CoreV1().Pods(current.Namespace).Patch(
			context.Background(), current.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
			break
		}
		select {
		case <-time.After(wait):
		case <-p.runner.ctx.Done():
			return
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		klog.ErrorS(err, "A pod's status could not be written", "pod", klog.KObj(current))
	}
}

func (p *pod) status(current *corev1.Pod) corev1.PodStatus {
	p.mu.Lock()
	status := corev1.PodStatus{
		Phase: p.phase, HostIP: "127.0.0.1", PodIP: p.runner.address, PodIPs: []corev1.PodIP{{IP: p.runner.address}},
		StartTime: &p.started,
	}
	p.mu.Unlock()
	initialized, ready := true, status.Phase == corev1.PodRunning
	for n := range current.Spec.InitContainers {
		one := p.containers[current.Spec.InitContainers[n].Name]
		found := one.report()
		initialized = initialized && (found.Ready || one.isSidecar())
		status.InitContainerStatuses = append(status.InitContainerStatuses, found)
	}
	for n := range current.Spec.Containers {
		found := p.containers[current.Spec.Containers[n].Name].report()
		ready = ready && found.Ready
		status.ContainerStatuses = append(status.ContainerStatuses, found)
	}
	gates := ready
	for _, gate := range current.Spec.ReadinessGates {
		gates = gates && hasCondition(current, gate.ConditionType)
	}
	status.Conditions = []corev1.PodCondition{
		p.condition(current, corev1.PodInitialized, initialized),
		p.condition(current, corev1.ContainersReady, ready),
		p.condition(current, corev1.PodReady, gates),
	}
	return status
}

func (p *pod) condition(current *corev1.Pod, kind corev1.PodConditionType, good bool) corev1.PodCondition {
	made := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	if good {
		made.Status = corev1.ConditionTrue
	}
	for _, known := range current.Status.Conditions {
		if known.Type == kind && known.Status == made.Status {
			made.LastTransitionTime = known.LastTransitionTime
		}
	}
	return made
}

func hasCondition(current *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, known := range current.Status.Conditions {
		if known.Type == kind {
			return known.Status == corev1.ConditionTrue
		}
	}
	return false
}
