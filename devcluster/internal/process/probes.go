package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probe asks the container how it is until the context ends: first whether it has started, then
// whether it is ready and alive. A container that is not alive any more is ended, and its restart
// policy decides the rest.
func (c *container) probe(ctx context.Context) {
	if p := c.spec.StartupProbe; p != nil {
		if !c.repeat(ctx, p, func(good bool) bool { return good }, true) {
			return
		}
		c.mu.Lock()
		started := true
		c.status.Started = &started
		ready := c.spec.ReadinessProbe == nil
		c.mu.Unlock()
		c.setReady(ready)
		c.pod.push()
	}
	if p := c.spec.ReadinessProbe; p != nil {
		go c.repeat(ctx, p, func(good bool) bool { c.setReady(good); return false }, false)
	}
	if p := c.spec.LivenessProbe; p != nil {
		c.repeat(ctx, p, func(bool) bool { return false }, true)
	}
}

// repeat probes until `found`, told of each settled result, returns true, or the context ends.
func (c *container) repeat(ctx context.Context, p *corev1.Probe, found func(good bool) bool, fatal bool) bool {
	pause := time.Duration(p.InitialDelaySeconds) * time.Second
	good, bad, ever := int32(0), int32(0), false
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
		if c.ask(ctx, p) {
			good, bad, ever = good+1, 0, true
		} else {
			good, bad = 0, bad+1
		}
		if good >= max(1, p.SuccessThreshold) && found(true) {
			return true
		}
		if bad >= max(1, p.FailureThreshold) {
			found(false)
			if fatal && ctx.Err() == nil {
				c.kill()
				return false
			}
		}
		pause = time.Duration(max(1, p.PeriodSeconds)) * time.Second
		if !ever && !fatal {
			pause = 100 * time.Millisecond // it is about to get ready: no need to be as patient as a kubelet
		}
	}
}

func (c *container) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		_ = syscall.Kill(-c.process.Process.Pid, syscall.SIGTERM)
	}
}

func (c *container) ask(ctx context.Context, p *corev1.Probe) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(1, p.TimeoutSeconds))*time.Second)
	defer cancel()
	switch {
	case p.Exec != nil:
		command, err := c.command(ctx, p.Exec.Command)
		return err == nil && command.Run() == nil
	case p.HTTPGet != nil:
		return c.askHTTP(ctx, p.HTTPGet)
	case p.TCPSocket != nil:
		return c.dial(ctx, p.TCPSocket.Host, p.TCPSocket.Port)
	case p.GRPC != nil:
		return c.dial(ctx, "", intstr.FromInt32(p.GRPC.Port))
	}
	return true
}

var probing = &http.Client{Transport: &http.Transport{
	DisableKeepAlives: true,
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // a kubelet does not look at the certificate either
}}

func (c *container) askHTTP(ctx context.Context, get *corev1.HTTPGetAction) bool {
	port, err := c.port(get.Port)
	if err != nil {
		return false
	}
	scheme := "http"
	if get.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	url := fmt.Sprintf("%s://%s%s", scheme, net.JoinHostPort(orLocal(get.Host), strconv.Itoa(port)), get.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	for _, header := range get.HTTPHeaders {
		request.Header.Add(header.Name, header.Value)
	}
	answer, err := probing.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode >= 200 && answer.StatusCode < 400
}

func (c *container) dial(ctx context.Context, host string, where intstr.IntOrString) bool {
	port, err := c.port(where)
	if err != nil {
		return false
	}
	link, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(orLocal(host), strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = link.Close()
	return true
}

func orLocal(host string) string {
	if host == "" {
		return "127.0.0.1"
	}
	return host
}

func (c *container) port(where intstr.IntOrString) (int, error) {
	if where.Type == intstr.Int {
		return where.IntValue(), nil
	}
	for _, port := range c.spec.Ports {
		if port.Name == where.StrVal {
			return int(port.ContainerPort), nil
		}
	}
	return strconv.Atoi(where.StrVal)
}
