package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"argosy.dev/devcluster/internal/sandbox"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// describe says what the container's process is started with.
func (c *container) describe() (sandbox.Spec, error) {
	if len(c.spec.Command) == 0 {
		return sandbox.Spec{}, errors.New("a container that is run as a process needs a command: there is no image to take one from")
	}
	variables, err := c.environment()
	if err != nil {
		return sandbox.Spec{}, err
	}
	mounts, err := c.mounts(variables)
	if err != nil {
		return sandbox.Spec{}, err
	}
	spec := sandbox.Spec{Mounts: mounts, Dir: c.spec.WorkingDir, Scratch: filepath.Join(c.folder(), "scratch")}
	if !c.pod.runner.private {
		root := filepath.Join(c.folder(), "root")
		if err := linkMounts(root, mounts); err != nil {
			return sandbox.Spec{}, err
		}
		variables["ARGOSY_MOUNT_ROOT"] = root
		spec.Dir = root
	}
	if spec.Dir == "" {
		spec.Dir = "/"
	}
	mapping := expansion.MappingFuncFor(variables)
	for _, text := range append(append([]string{}, c.spec.Command...), c.spec.Args...) {
		spec.Args = append(spec.Args, expansion.Expand(text, mapping))
	}
	for name, value := range variables {
		spec.Env = append(spec.Env, name+"="+value)
	}
	return spec, nil
}

// environment returns the container's variables: few of its own, then envFrom, then env, in order.
func (c *container) environment() (map[string]string, error) {
	current := c.pod.get()
	host, port, err := net.SplitHostPort(c.pod.runner.api)
	if err != nil {
		return nil, err
	}
	variables := map[string]string{
		"PATH":                          filepath.Join(c.pod.runner.dir, "tools") + ":" + os.Getenv("PATH"),
		"HOME":                          os.Getenv("HOME"),
		"HOSTNAME":                      current.Name,
		"KUBERNETES_SERVICE_HOST":       host,
		"KUBERNETES_SERVICE_PORT":       port,
		"KUBERNETES_SERVICE_PORT_HTTPS": port,
	}
	for _, from := range c.spec.EnvFrom {
		if err := c.importAll(from, variables); err != nil {
			return nil, err
		}
	}
	for _, variable := range c.spec.Env {
		value := expansion.Expand(variable.Value, expansion.MappingFuncFor(variables))
		if variable.ValueFrom != nil {
			var found bool
			if value, found, err = c.valueFrom(variable.ValueFrom); err != nil {
				return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
			} else if !found {
				continue
			}
		}
		variables[variable.Name] = value
	}
	return variables, nil
}

func (c *container) importAll(from corev1.EnvFromSource, variables map[string]string) error {
	var data map[string]string
	var err error
	optional := false
	switch {
	case from.ConfigMapRef != nil:
		optional = from.ConfigMapRef.Optional != nil && *from.ConfigMapRef.Optional
		data, err = c.pod.configMap(from.ConfigMapRef.Name)
	case from.SecretRef != nil:
		optional = from.SecretRef.Optional != nil && *from.SecretRef.Optional
		data, err = c.pod.secret(from.SecretRef.Name)
	}
	if apierrors.IsNotFound(err) && optional {
		return nil
	}
	for name, value := range data {
		variables[from.Prefix+name] = value
	}
	return err
}

func (c *container) valueFrom(from *corev1.EnvVarSource) (string, bool, error) {
	switch {
	case from.FieldRef != nil:
		value, err := c.pod.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err := resource.ExtractContainerResourceValue(from.ResourceFieldRef, c.spec)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		data, err := c.pod.configMap(from.ConfigMapKeyRef.Name)
		return pick(data, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional, err)
	case from.SecretKeyRef != nil:
		data, err := c.pod.secret(from.SecretKeyRef.Name)
		return pick(data, from.SecretKeyRef.Key, from.SecretKeyRef.Optional, err)
	}
	return "", false, errors.New("a source of a kind that is not known here")
}

func pick(data map[string]string, key string, optional *bool, err error) (string, bool, error) {
	forgiven := optional != nil && *optional
	if apierrors.IsNotFound(err) && forgiven {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	value, found := data[key]
	if !found && !forgiven {
		return "", false, fmt.Errorf("there is no key %q", key)
	}
	return value, found, nil
}

// field returns a field of the pod, as the downward API names it.
func (p *pod) field(path string) (string, error) {
	current := p.get()
	switch path {
	case "spec.nodeName":
		return current.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return current.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return "127.0.0.1", nil
	case "status.podIP", "status.podIPs":
		return p.runner.address, nil
	}
	return fieldpath.ExtractFieldPathAsString(current, path)
}

func (p *pod) configMap(name string) (map[string]string, error) {
	found, err := p.runner.client.CoreV1().ConfigMaps(p.get().Namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	data := map[string]string{}
	for key, value := range found.BinaryData {
		data[key] = string(value)
	}
	for key, value := range found.Data {
		data[key] = value
	}
	return data, nil
}

func (p *pod) secret(name string) (map[string]string, error) {
	found, err := p.runner.client.CoreV1().Secrets(p.get().Namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	data := map[string]string{}
	for key, value := range found.Data {
		data[key] = string(value)
	}
	return data, nil
}

// mounts returns what the process is to see, outermost first.
func (c *container) mounts(variables map[string]string) ([]sandbox.Mount, error) {
	message := c.spec.TerminationMessagePath
	if message == "" {
		message = corev1.TerminationMessagePathDefault
	}
	mounts := []sandbox.Mount{
		{Source: c.terminationLog(), Target: message},
		{Source: filepath.Join(c.pod.runner.dir, "tools"), Target: "/ko-app", ReadOnly: true}, // where Tekton's images have theirs
	}
	mapping := expansion.MappingFuncFor(variables)
	for _, mount := range c.spec.VolumeMounts {
		source := c.pod.volume(mount.Name)
		sub := mount.SubPath
		if mount.SubPathExpr != "" {
			sub = expansion.Expand(mount.SubPathExpr, mapping)
		}
		if sub != "" {
			if !filepath.IsLocal(sub) {
				return nil, fmt.Errorf("the subPath %q leaves the volume", sub)
			}
			source = filepath.Join(source, sub)
			if _, err := os.Stat(source); os.IsNotExist(err) {
				if err := os.MkdirAll(source, 0o777); err != nil {
					return nil, err
				}
			}
		}
		mounts = append(mounts, sandbox.Mount{Source: source, Target: mount.MountPath, ReadOnly: mount.ReadOnly})
	}
	return mounts, nil
}

// linkMounts stands in for mounts where there is no right to make them.
func linkMounts(root string, mounts []sandbox.Mount) error {
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	for _, mount := range mounts {
		target := filepath.Join(root, mount.Target)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(mount.Source, target); err != nil && !strings.Contains(err.Error(), "exists") {
			return err
		}
	}
	return os.MkdirAll(root, 0o755)
}
