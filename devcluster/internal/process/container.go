package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"argosy.dev/devcluster/internal/sandbox"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const maxMessage = 4096 // bytes of a termination message that Kubernetes keeps

// container is one container of a pod, over all its restarts.
type container struct {
	pod  *pod
	spec *corev1.Container

	mu      sync.Mutex
	status  corev1.ContainerStatus
	process *exec.Cmd // nil while nothing runs
	env     []string
	dir     string
	begun   chan struct{} // closed when it has started for the first time
}

func newContainer(p *pod, spec *corev1.Container, known []corev1.ContainerStatus) *container {
	c := &container{pod: p, spec: spec, begun: make(chan struct{})}
	c.status = corev1.ContainerStatus{Name: spec.Name, Image: spec.Image, ImageID: spec.Image}
	c.status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	for n := range known {
		if known[n].Name == spec.Name {
			c.status = *known[n].DeepCopy()
		}
	}
	if running := c.status.State.Running; running != nil { // the cluster was stopped, and with it the process
		c.status.Ready = false
		c.status.RestartCount++
		c.status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "the cluster was stopped",
			StartedAt: running.StartedAt, FinishedAt: metav1.Now(),
		}
		c.status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	}
	return c
}

func (c *container) isSidecar() bool {
	return c.spec.RestartPolicy != nil && *c.spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func (c *container) report() corev1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := *c.status.DeepCopy()
	started := found.State.Running != nil && (found.Started == nil || *found.Started)
	found.Started = &started
	return found
}

func (c *container) exitCode() int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status.State.Terminated == nil {
		return 137
	}
	return c.status.State.Terminated.ExitCode
}

func (c *container) setWaiting(reason, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Ready = false
	c.status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func (c *container) setReady(ready bool) {
	c.mu.Lock()
	changed := c.status.State.Running != nil && c.status.Ready != ready
	if changed {
		c.status.Ready = ready
	}
	c.mu.Unlock()
	if changed {
		c.pod.push()
	}
}

func (c *container) waitStarted(ctx context.Context) {
	select {
	case <-c.begun:
	case <-ctx.Done():
	}
}

// supervise runs the container until its policy lets it be; it returns the last exit code.
func (c *container) supervise(ctx context.Context, policy corev1.RestartPolicy) int32 {
	for wait := firstBackOff; ; wait = min(2*wait, lastBackOff) {
		started := time.Now()
		code := c.once(ctx)
		if ctx.Err() != nil || policy == corev1.RestartPolicyNever || (policy == corev1.RestartPolicyOnFailure && code == 0) {
			return code
		}
		if time.Since(started) > time.Minute {
			wait = firstBackOff // it ran well for a while: a crash now is not the last one's fault
		}
		c.backOff(wait)
		select {
		case <-ctx.Done():
			return code
		case <-time.After(wait):
		}
	}
}

func (c *container) backOff(wait time.Duration) {
	c.mu.Lock()
	c.status.LastTerminationState = c.status.State
	c.status.RestartCount++
	c.mu.Unlock()
	c.setWaiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting container %s", wait, c.spec.Name))
	c.pod.push()
}

// once starts the container's process, and returns its exit code when it has ended.
func (c *container) once(ctx context.Context) int32 {
	began := metav1.Now()
	command, log, err := c.start()
	if err != nil {
		return c.ended(began, 128, "StartError", err.Error())
	}
	defer log.close()
	defer c.clear()
	c.running(command, began)
	probing, enough := context.WithCancel(ctx)
	defer enough()
	go c.probe(probing)

	done := make(chan struct{})
	go func() { _ = command.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		c.end(command.Process.Pid, done)
	}
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // children that it left behind
	log.flush()
	code, reason := exit(command.ProcessState)
	return c.ended(began, code, reason, c.message(code))
}

// end asks the process to end, and makes it when the pod's grace is over.
func (c *container) end(pid int, done <-chan struct{}) {
	grace := int64(30)
	current := c.pod.get()
	if current.Spec.TerminationGracePeriodSeconds != nil {
		grace = *current.Spec.TerminationGracePeriodSeconds
	}
	if current.DeletionGracePeriodSeconds != nil {
		grace = *current.DeletionGracePeriodSeconds
	}
	if c.pod.runner.ctx.Err() != nil {
		grace = min(grace, 1) // the whole cluster stops
	}
	over := time.After(time.Duration(grace) * time.Second)
	c.preStop(over)
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	select {
	case <-done:
	case <-over:
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		<-done
	}
}

func (c *container) preStop(over <-chan time.Time) {
	if c.spec.Lifecycle == nil || c.spec.Lifecycle.PreStop == nil || c.spec.Lifecycle.PreStop.Exec == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if command, err := c.command(ctx, c.spec.Lifecycle.PreStop.Exec.Command); err == nil {
			_ = command.Run()
		}
	}()
	select {
	case <-done:
	case <-over:
	}
	cancel()
}

func (c *container) running(command *exec.Cmd, began metav1.Time) {
	c.mu.Lock()
	c.process = command
	c.status.ContainerID = "argosy://" + strconv.Itoa(command.Process.Pid)
	c.status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
	c.status.Ready = c.spec.ReadinessProbe == nil && c.spec.StartupProbe == nil
	started := c.spec.StartupProbe == nil
	c.status.Started = &started
	select {
	case <-c.begun:
	default:
		close(c.begun)
	}
	c.mu.Unlock()
	c.pod.push()
}

func (c *container) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = nil
}

func (c *container) ended(began metav1.Time, code int32, reason, message string) int32 {
	c.mu.Lock()
	c.status.Ready = code == 0 && c.isInit()
	c.status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, StartedAt: began, FinishedAt: metav1.Now(),
		ContainerID: c.status.ContainerID,
	}}
	c.mu.Unlock()
	c.pod.push()
	return code
}

func (c *container) isInit() bool {
	inits := c.pod.get().Spec.InitContainers
	for n := range inits {
		if inits[n].Name == c.spec.Name {
			return true
		}
	}
	return false
}

func exit(state *os.ProcessState) (int32, string) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return int32(128 + int(status.Signal())), "Error"
	}
	if state.ExitCode() == 0 {
		return 0, "Completed"
	}
	return int32(state.ExitCode()), "Error"
}

// message is what the process wrote to its termination log, or the end of its log if it asks for that.
func (c *container) message(code int32) string {
	data, err := os.ReadFile(c.terminationLog())
	if err == nil && len(data) > 0 {
		return string(data[:min(len(data), maxMessage)])
	}
	if code != 0 && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		return lastLines(c.logFile(c.restarts()))
	}
	return ""
}

func (c *container) restarts() int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status.RestartCount
}

func (c *container) terminationLog() string { return filepath.Join(c.folder(), "termination-log") }

func (c *container) folder() string { return filepath.Join(c.pod.dir, "containers", c.spec.Name) }

func (c *container) logFile(restart int32) string {
	return filepath.Join(c.folder(), fmt.Sprintf("%d.log", restart))
}

// start starts the process, in a file system of its own where that is possible.
func (c *container) start() (*exec.Cmd, *logWriter, error) {
	if err := os.MkdirAll(filepath.Join(c.folder(), "scratch"), 0o755); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(c.terminationLog(), nil, 0o666); err != nil {
		return nil, nil, err
	}
	spec, err := c.describe()
	if err != nil {
		return nil, nil, err
	}
	log, err := openLog(c.logFile(c.restarts()))
	if err != nil {
		return nil, nil, err
	}
	var command *exec.Cmd
	if c.pod.runner.private {
		file := filepath.Join(c.folder(), "process.json")
		if err := sandbox.Write(file, spec); err != nil {
			return nil, nil, err
		}
		command = exec.Command("/proc/self/exe", "container", file)
		command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		command.Env = []string{"PATH=" + os.Getenv("PATH")}
	} else {
		command = exec.Command(spec.Args[0], spec.Args[1:]...)
		command.SysProcAttr = &syscall.SysProcAttr{}
		command.Env, command.Dir = spec.Env, spec.Dir
	}
	command.SysProcAttr.Setsid = true
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL // nothing outlives the cluster
	command.Stdout, command.Stderr = log.stream("stdout"), log.stream("stderr")
	command.WaitDelay = 2 * time.Second // children that hold the output open are not waited for
	if err := command.Start(); err != nil {
		log.close()
		return nil, nil, err
	}
	c.mu.Lock()
	c.env, c.dir = spec.Env, spec.Dir
	c.mu.Unlock()
	return command, log, nil
}
