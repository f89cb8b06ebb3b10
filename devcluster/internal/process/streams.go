package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/creack/pty"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/remotecommand"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/logs"
	"k8s.io/klog/v2"
	utilexec "k8s.io/utils/exec"
)

// Errors that a person reads at the end of `kubectl logs` or `kubectl exec`.
var (
	errSimulated = errors.New("this pod is simulated, nothing runs in it; annotate it " + Annotation + ": " + Value + " to run it for real")
	errNotNow    = errors.New("the container does not run now")
)

// command returns a command that runs where the container's process runs.
func (c *container) command(ctx context.Context, argv []string) (*exec.Cmd, error) {
	c.mu.Lock()
	running, env, dir := c.process, c.env, c.dir
	c.mu.Unlock()
	if running == nil {
		return nil, errNotNow
	}
	if len(argv) == 0 {
		return nil, errors.New("there is no command")
	}
	if c.pod.runner.private {
		enter, err := exec.LookPath("nsenter")
		if err != nil {
			return nil, fmt.Errorf("exec needs the program nsenter (util-linux): %w", err)
		}
		pid := strconv.Itoa(running.Process.Pid)
		argv = append([]string{enter, "--target", pid, "--mount", "--root", "--wd", "--"}, argv...)
		dir = ""
	}
	made := exec.CommandContext(ctx, argv[0], argv[1:]...)
	made.Env, made.Dir, made.WaitDelay = env, dir, 2*time.Second
	return made, nil
}

// Streams answers for logs, exec and port-forward of the pods that are run.
type Streams struct{ Runner *Runner }

func (s Streams) container(namespace, name, container string) (*container, error) {
	found := s.Runner.find(namespace, name)
	if found == nil {
		return nil, errSimulated
	}
	if one, ok := found.containers[container]; ok {
		return one, nil
	}
	return nil, fmt.Errorf("the pod %s has no container %q", name, container)
}

// Logs writes a container's log.
func (s Streams) Logs(ctx context.Context, namespace, name, container string, options *corev1.PodLogOptions, out, errors io.Writer) error {
	c, err := s.container(namespace, name, container)
	if err == errSimulated {
		_, err = fmt.Fprintln(out, err)
		return err
	} else if err != nil {
		return err
	}
	restart := c.restarts()
	if options.Previous {
		if restart--; restart < 0 {
			return fmt.Errorf("previous terminated container %q in pod %q not found", container, name)
		}
	} else if _, err := os.Stat(c.logFile(restart)); os.IsNotExist(err) && restart > 0 {
		restart-- // it waits to be started again
	}
	logger := klog.Background()
	return logs.ReadLogs(ctx, &logger, c.logFile(restart), "", logs.NewLogOptions(options, time.Now()), stillRunning{container: c}, out, errors)
}

// stillRunning is the one question that the kubelet's log reader asks while it follows a log.
type stillRunning struct {
	internalapi.RuntimeService
	container *container
}

// ContainerStatus says whether more is to be expected.
func (s stillRunning) ContainerStatus(context.Context, string, bool) (*runtimeapi.ContainerStatusResponse, error) {
	state := runtimeapi.ContainerState_CONTAINER_EXITED
	if s.container.report().State.Running != nil {
		state = runtimeapi.ContainerState_CONTAINER_RUNNING
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: state}}, nil
}

// Target is a pod as the streaming library asks for it.
type Target struct {
	Streams
	Namespace string
}

// ExecInContainer runs a command beside the container's process.
func (t Target) ExecInContainer(ctx context.Context, name string, _ types.UID, container string, argv []string,
	in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	c, err := t.container(t.Namespace, name, container)
	if err != nil {
		return err
	}
	command, err := c.command(ctx, argv)
	if err != nil {
		return err
	}
	if tty {
		err = runOnTerminal(command, in, out, resize)
	} else {
		err = runPlain(command, in, out, errs)
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return utilexec.CodeExitError{Err: ended, Code: ended.ExitCode()}
	}
	return err
}

func runPlain(command *exec.Cmd, in io.Reader, out, errs io.Writer) error {
	command.Stdout, command.Stderr = out, errs
	if in != nil {
		// not command.Stdin: Wait would wait for a caller that never closes its end
		pipe, err := command.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(pipe, in)
			_ = pipe.Close()
		}()
	}
	return command.Run()
}

func runOnTerminal(command *exec.Cmd, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) error {
	command.Env = append(command.Env, "TERM=xterm")
	terminal, err := pty.Start(command)
	if err != nil {
		return err
	}
	defer terminal.Close()
	go func() {
		for size := range resize {
			_ = pty.Setsize(terminal, &pty.Winsize{Rows: size.Height, Cols: size.Width})
		}
	}()
	if in != nil {
		go func() { _, _ = io.Copy(terminal, in) }()
	}
	if out != nil {
		_, _ = io.Copy(out, terminal) // ends with an error of the terminal's when the last process has gone
	}
	return command.Wait()
}

// PortForward connects a stream with a port of the pod.
func (t Target) PortForward(ctx context.Context, name string, _ types.UID, port int32, stream io.ReadWriteCloser) error {
	if t.Runner.find(t.Namespace, name) == nil {
		return errSimulated
	}
	link, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer link.Close()
	answered := make(chan struct{})
	go func() {
		_, _ = io.Copy(stream, link)
		close(answered)
	}()
	go func() {
		_, _ = io.Copy(link, stream)
		if half, ok := link.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	}()
	select {
	case <-answered:
	case <-ctx.Done():
	}
	return nil
}
