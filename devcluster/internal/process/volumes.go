package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/v1/resource"
)

// refreshEvery is how old ConfigMaps, Secrets and tokens in a volume may get; a kubelet takes a minute.
const refreshEvery = 30 * time.Second

// volume is where the files of a volume are.
func (p *pod) volume(name string) string {
	for n := range p.get().Spec.Volumes {
		if v := &p.get().Spec.Volumes[n]; v.Name == name && claimOf(p.get(), v) != "" {
			if link, err := os.Readlink(filepath.Join(p.dir, "volumes", name)); err == nil {
				return link
			}
		}
	}
	return filepath.Join(p.dir, "volumes", name)
}

func (p *pod) writeVolumes(ctx context.Context) error {
	current := p.get()
	if err := os.MkdirAll(filepath.Join(p.dir, "volumes"), 0o700); err != nil {
		return err
	}
	for n := range current.Spec.Volumes {
		if err := p.writeVolume(ctx, &current.Spec.Volumes[n]); err != nil {
			return fmt.Errorf("volume %s: %w", current.Spec.Volumes[n].Name, err)
		}
	}
	return nil
}

func (p *pod) writeVolume(ctx context.Context, v *corev1.Volume) error {
	place := filepath.Join(p.dir, "volumes", v.Name)
	if claim := claimOf(p.get(), v); claim != "" {
		return p.linkClaim(ctx, claim, place)
	}
	if v.HostPath != nil {
		return errors.New("hostPath volumes are refused: a pod is not to reach this machine's files")
	}
	if v.EmptyDir != nil {
		return os.MkdirAll(place, 0o777)
	}
	files, err := p.files(ctx, v)
	if err != nil {
		return err
	}
	return replaceFiles(place, files)
}

func claimOf(current *corev1.Pod, v *corev1.Volume) string {
	if v.PersistentVolumeClaim != nil {
		return v.PersistentVolumeClaim.ClaimName
	}
	if v.Ephemeral != nil {
		return current.Name + "-" + v.Name
	}
	return ""
}

// linkClaim finds the folder of a claim's volume; only our own provisioner's are taken.
func (p *pod) linkClaim(ctx context.Context, name, place string) error {
	claim, err := p.runner.client.CoreV1().PersistentVolumeClaims(p.get().Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if claim.Status.Phase != corev1.ClaimBound {
		return fmt.Errorf("the claim %s is not bound", name)
	}
	folder := filepath.Join(p.runner.dir, "volumes", claim.Spec.VolumeName)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("the volume %s has no folder here", claim.Spec.VolumeName)
	}
	if err := os.Remove(place); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(folder, place)
}

// files returns what a volume that is made of objects holds, by path.
func (p *pod) files(ctx context.Context, v *corev1.Volume) (map[string]string, error) {
	files := map[string]string{}
	switch {
	case v.ConfigMap != nil:
		return files, p.addConfigMap(files, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		return files, p.addSecret(files, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.DownwardAPI != nil:
		return files, p.addFields(files, v.DownwardAPI.Items)
	case v.Projected == nil:
		return nil, errors.New("volumes of this kind cannot be had without a container runtime")
	}
	for _, source := range v.Projected.Sources {
		var err error
		switch {
		case source.ConfigMap != nil:
			err = p.addConfigMap(files, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
		case source.Secret != nil:
			err = p.addSecret(files, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
		case source.DownwardAPI != nil:
			err = p.addFields(files, source.DownwardAPI.Items)
		case source.ServiceAccountToken != nil:
			err = p.addToken(ctx, files, source.ServiceAccountToken)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (p *pod) addConfigMap(files map[string]string, name string, items []corev1.KeyToPath, optional *bool) error {
	data, err := p.configMap(name)
	return add(files, data, items, optional, err)
}

func (p *pod) addSecret(files map[string]string, name string, items []corev1.KeyToPath, optional *bool) error {
	data, err := p.secret(name)
	return add(files, data, items, optional, err)
}

func add(files, data map[string]string, items []corev1.KeyToPath, optional *bool, err error) error {
	forgiven := optional != nil && *optional
	if apierrors.IsNotFound(err) && forgiven {
		return nil
	}
	if err != nil {
		return err
	}
	if len(items) == 0 {
		for key, value := range data {
			files[key] = value
		}
	}
	for _, item := range items {
		value, found := data[item.Key]
		if !found && !forgiven {
			return fmt.Errorf("there is no key %q", item.Key)
		}
		if found {
			files[item.Path] = value
		}
	}
	return nil
}

func (p *pod) addFields(files map[string]string, items []corev1.DownwardAPIVolumeFile) error {
	for _, item := range items {
		var value string
		var err error
		if item.FieldRef != nil {
			value, err = p.field(item.FieldRef.FieldPath)
		} else if item.ResourceFieldRef != nil {
			value, err = resource.ExtractResourceValueByContainerName(item.ResourceFieldRef, p.get(), item.ResourceFieldRef.ContainerName)
		}
		if err != nil {
			return err
		}
		files[item.Path] = value
	}
	return nil
}

// addToken asks for a token of the pod's ServiceAccount, bound to the pod.
func (p *pod) addToken(ctx context.Context, files map[string]string, source *corev1.ServiceAccountTokenProjection) error {
	current := p.get()
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds,
		BoundObjectRef:    &authv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: current.Name, UID: current.UID},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	made, err := p.runner.client.CoreV1().ServiceAccounts(current.Namespace).CreateToken(
		ctx, current.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	files[source.Path] = made.Status.Token
	return nil
}

// replaceFiles brings a folder to exactly these files, each replaced whole.
func replaceFiles(place string, files map[string]string) error {
	if err := os.MkdirAll(place, 0o755); err != nil {
		return err
	}
	for path, text := range files {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("the path %q leaves the volume", path)
		}
		target := filepath.Join(place, path)
		if have, err := os.ReadFile(target); err == nil && string(have) == text {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		fresh := filepath.Join(filepath.Dir(target), "..new")
		if err := os.WriteFile(fresh, []byte(text), 0o755); err != nil {
			return err
		}
		if err := os.Rename(fresh, target); err != nil {
			return err
		}
	}
	return filepath.WalkDir(place, func(path string, entry os.DirEntry, err error) error {
		relative, _ := filepath.Rel(place, path)
		if _, wanted := files[relative]; err == nil && !entry.IsDir() && !wanted {
			return os.Remove(path)
		}
		return err
	})
}

// refreshVolumes keeps ConfigMaps, Secrets and tokens fresh while the pod runs.
func (p *pod) refreshVolumes(ctx context.Context) {
	for ticks := time.NewTicker(refreshEvery); ; {
		select {
		case <-ctx.Done():
			ticks.Stop()
			return
		case <-ticks.C:
		}
		current := p.get()
		for n := range current.Spec.Volumes {
			v := &current.Spec.Volumes[n]
			if v.ConfigMap == nil && v.Secret == nil && v.Projected == nil {
				continue
			}
			if err := p.writeVolume(ctx, v); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "A volume keeps its old files", "pod", klog.KObj(current), "volume", v.Name)
			}
		}
	}
}
