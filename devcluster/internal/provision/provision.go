// Package provision makes PersistentVolumes for the claims of StorageClasses whose provisioner is
// Provisioner, grows them, and deletes them when they are released.
//
// A volume is a folder below the cluster's own; pods that are run for real find their files in it.
package provision

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const workers = 4 // claims come in dozens, each costs two writes

// provisionedBy is the annotation by which provisioners know their own volumes.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// Controller serves claims.
type Controller struct {
	client  kubernetes.Interface
	claims  listers.PersistentVolumeClaimLister
	volumes listers.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	queue   workqueue.TypedRateLimitingInterface[string]
	dir     string
}

// New registers the controller's informers with the factory; dir is where volumes' folders are made.
func New(client kubernetes.Interface, factory informers.SharedInformerFactory, dir string) (*Controller, error) {
	claims := factory.Core().V1().PersistentVolumeClaims()
	volumes := factory.Core().V1().PersistentVolumes()
	classes := factory.Storage().V1().StorageClasses()
	c := &Controller{
		client: client, claims: claims.Lister(), volumes: volumes.Lister(), classes: classes.Lister(), dir: dir,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 10*time.Second)),
	}
	for kind, informer := range map[string]cache.SharedIndexInformer{
		"claim": claims.Informer(), "volume": volumes.Informer(), "class": classes.Informer(),
	} {
		enqueue := func(obj any) {
			if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
				c.queue.Add(kind + ":" + key)
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
		})
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Run works until the context ends.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
}

func (c *Controller) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if err := c.sync(ctx, key); err != nil && !apierrors.IsConflict(err) {
		klog.ErrorS(err, "A volume could not be served and is tried again", "object", key)
		c.queue.AddRateLimited(key)
	} else if err != nil {
		c.queue.AddRateLimited(key)
	} else {
		c.queue.Forget(key)
	}
	return true
}

func (c *Controller) sync(ctx context.Context, key string) error {
	kind, rest, _ := strings.Cut(key, ":")
	switch kind {
	case "class":
		return c.syncClass(rest)
	case "claim":
		return c.syncClaim(ctx, rest)
	default:
		return c.syncVolume(ctx, rest)
	}
}

// syncClass looks again at the claims that waited for a class.
func (c *Controller) syncClass(name string) error {
	claims, err := c.claims.List(labels.Everything())
	for _, claim := range claims {
		if claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName == name {
			c.queue.Add("claim:" + claim.Namespace + "/" + claim.Name)
		}
	}
	return err
}

func (c *Controller) syncClaim(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	claim, err := c.claims.PersistentVolumeClaims(namespace).Get(name)
	if apierrors.IsNotFound(err) || (err == nil && claim.DeletionTimestamp != nil) {
		return nil
	} else if err != nil {
		return err
	}
	class, err := c.class(claim)
	if class == nil || err != nil {
		return err
	}
	if claim.Spec.VolumeName == "" {
		return c.create(ctx, claim, class)
	}
	return c.grow(ctx, claim)
}

// class returns the claim's class when it is ours and the claim may be served now.
func (c *Controller) class(claim *corev1.PersistentVolumeClaim) (*storagev1.StorageClass, error) {
	if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName == "" {
		return nil, nil
	}
	class, err := c.classes.Get(*claim.Spec.StorageClassName)
	if apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	if class.Provisioner != Provisioner || (waits && claim.Annotations["volume.kubernetes.io/selected-node"] == "") {
		return nil, nil
	}
	return class, nil
}

// Folder is where the files of a volume are.
func Folder(dir, volume string) string { return filepath.Join(dir, volume) }

func (c *Controller) create(ctx context.Context, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	if claim.Spec.Selector != nil {
		return nil // a claim that selects wants a volume that somebody else made
	}
	name := "pvc-" + string(claim.UID)
	if err := os.MkdirAll(Folder(c.dir, name), 0o777); err != nil {
		return err
	}
	reclaim := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	_, err := c.client.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			StorageClassName:              class.Name,
			PersistentVolumeReclaimPolicy: reclaim,
			MountOptions:                  class.MountOptions,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name,
				UID: claim.UID, ResourceVersion: claim.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: Folder(c.dir, name)},
			},
		},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// grow gives a bound claim the size that it asks for.
func (c *Controller) grow(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	want := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if have := claim.Status.Capacity[corev1.ResourceStorage]; claim.Status.Phase != corev1.ClaimBound || have.Cmp(want) >= 0 {
		return nil
	}
	volume, err := c.volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return fmt.Errorf("volume of claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	if volume.Annotations[provisionedBy] != Provisioner {
		return nil
	}
	if have := volume.Spec.Capacity[corev1.ResourceStorage]; have.Cmp(want) < 0 {
		larger := volume.DeepCopy()
		larger.Spec.Capacity[corev1.ResourceStorage] = want
		if _, err := c.client.CoreV1().PersistentVolumes().Update(ctx, larger, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	done := claim.DeepCopy()
	done.Status.Capacity[corev1.ResourceStorage] = want
	done.Status.Conditions = nil
	_, err = c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, done, metav1.UpdateOptions{})
	return err
}

// syncVolume deletes a volume of ours whose claim is gone, with its files.
func (c *Controller) syncVolume(ctx context.Context, name string) error {
	volume, err := c.volumes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	if volume.Annotations[provisionedBy] != Provisioner || volume.Status.Phase != corev1.VolumeReleased ||
		volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	if err := os.RemoveAll(Folder(c.dir, name)); err != nil {
		return err
	}
	err = c.client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
