package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// services knows the webhooks, and which Services have something ready behind them.
type services struct {
	client     kubernetes.Interface
	slices     discoverylisters.EndpointSliceLister
	mutating   cache.Indexer
	validating cache.Indexer
}

func newServices(client kubernetes.Interface, factory informers.SharedInformerFactory) *services {
	admission := factory.Admissionregistration().V1()
	return &services{
		client:     client,
		slices:     factory.Discovery().V1().EndpointSlices().Lister(),
		mutating:   admission.MutatingWebhookConfigurations().Informer().GetIndexer(),
		validating: admission.ValidatingWebhookConfigurations().Informer().GetIndexer(),
	}
}

// webhooks returns all webhooks; mutating ones are asked first.
func (s *services) webhooks() []webhook.WebhookAccessor {
	var found []webhook.WebhookAccessor
	for _, each := range s.mutating.List() {
		configuration := each.(*admissionv1.MutatingWebhookConfiguration)
		for n := range configuration.Webhooks {
			hook := &configuration.Webhooks[n]
			uid := fmt.Sprintf("%s/%s/%d", configuration.Name, hook.Name, n)
			found = append(found, webhook.NewMutatingWebhookAccessor(uid, configuration.Name, hook))
		}
	}
	for _, each := range s.validating.List() {
		configuration := each.(*admissionv1.ValidatingWebhookConfiguration)
		for n := range configuration.Webhooks {
			hook := &configuration.Webhooks[n]
			uid := fmt.Sprintf("%s/%s/%d", configuration.Name, hook.Name, n)
			found = append(found, webhook.NewValidatingWebhookAccessor(uid, configuration.Name, hook))
		}
	}
	return found
}

// seen returns the version in which a configuration is known, 0 when it is not known yet.
func (s *services) seen(resource, name string) uint64 {
	indexer := s.validating
	if resource == "mutatingwebhookconfigurations" {
		indexer = s.mutating
	}
	object, exists, err := indexer.GetByKey(name)
	if !exists || err != nil {
		return 0
	}
	version, err := strconv.ParseUint(object.(metav1.Object).GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

func (s *services) hasReadyEndpoint(hook webhook.WebhookAccessor) bool {
	service := clientOf(hook).Service
	selector := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name})
	found, err := s.slices.EndpointSlices(service.Namespace).List(selector)
	if err != nil {
		return false
	}
	for _, slice := range found {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				return true
			}
		}
	}
	return false
}

// unavailable returns why the webhook cannot be reached, "" when it can. A Ready pod counts before its
// endpoint is written: who waits for a Deployment to be Available has done what can be done.
func (s *services) unavailable(ctx context.Context, hook webhook.WebhookAccessor) string {
	client := clientOf(hook).Service
	service, err := s.client.CoreV1().Services(client.Namespace).Get(ctx, client.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("service %q not found", client.Name)
	} else if err != nil {
		return err.Error()
	}
	if len(service.Spec.Selector) > 0 {
		pods, err := s.client.CoreV1().Pods(client.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: labels.SelectorFromSet(service.Spec.Selector).String(),
		})
		if err != nil {
			return err.Error()
		}
		for _, pod := range pods.Items {
			if isReady(&pod) {
				return ""
			}
		}
	}
	return fmt.Sprintf("no endpoints available for service %q", client.Name)
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func newBody(data []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }

// orNil keeps a nil object from becoming an interface that is not nil.
func orNil(object *unstructured.Unstructured) runtime.Object {
	if object == nil {
		return nil
	}
	return object
}

// versions gives the object as it is: what a condition reads is the version that was asked for.
type versions struct{ admission.Attributes }

// VersionedAttribute implements generic.VersionedAttributeAccessor.
func (v versions) VersionedAttribute(kind schema.GroupVersionKind) (*admission.VersionedAttributes, error) {
	return &admission.VersionedAttributes{
		Attributes: v.Attributes, VersionedKind: kind,
		VersionedObject: v.Attributes.GetObject(), VersionedOldObject: v.Attributes.GetOldObject(),
	}, nil
}

// mapper says what is equivalent to a resource: the same resource in the other versions that the
// webhook's rules name. Nothing is converted.
type mapper struct{ hook webhook.WebhookAccessor }

// EquivalentResourcesFor implements runtime.EquivalentResourceMapper.
func (m mapper) EquivalentResourcesFor(resource schema.GroupVersionResource, _ string) []schema.GroupVersionResource {
	found := []schema.GroupVersionResource{resource}
	for _, rule := range m.hook.GetRules() {
		for _, version := range rule.APIVersions {
			found = append(found, resource.GroupResource().WithVersion(version))
		}
	}
	return found
}

// KindFor implements runtime.EquivalentResourceMapper; only whether it is empty is looked at.
func (m mapper) KindFor(resource schema.GroupVersionResource, _ string) schema.GroupVersionKind {
	return resource.GroupVersion().WithKind(resource.Resource)
}

// GetEquivalentResourceMapper implements admission.ObjectInterfaces.
func (m mapper) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return m }

// GetObjectCreater implements admission.ObjectInterfaces; it is not asked, since nothing is converted.
func (m mapper) GetObjectCreater() runtime.ObjectCreater { return nil }

// GetObjectTyper implements admission.ObjectInterfaces; see GetObjectCreater.
func (m mapper) GetObjectTyper() runtime.ObjectTyper { return nil }

// GetObjectDefaulter implements admission.ObjectInterfaces; see GetObjectCreater.
func (m mapper) GetObjectDefaulter() runtime.ObjectDefaulter { return nil }

// GetObjectConvertor implements admission.ObjectInterfaces; see GetObjectCreater.
func (m mapper) GetObjectConvertor() runtime.ObjectConvertor { return nil }
