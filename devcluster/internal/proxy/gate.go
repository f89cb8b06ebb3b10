package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/configuration"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// gate refuses what a webhook with failurePolicy Fail would be asked about while nothing serves it.
//
// Which webhook is asked about what is decided by the API server's own code (rules, selectors,
// matchPolicy, matchConditions). What an object will be after a patch is asked of the API server
// itself, by a dry run of the very request.
type gate struct {
	proxy    *Proxy
	services *services
	plugin   *generic.Webhook
}

func newGate(ctx context.Context, kubeconfig string, p *Proxy) (*gate, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	g := &gate{proxy: p, services: newServices(client, factory)}
	// one plugin serves for both kinds of webhooks: only its judgement is used, no webhook is called
	g.plugin, err = generic.NewWebhook(
		admission.NewHandler(admission.Create, admission.Update, admission.Delete, admission.Connect), nil,
		configuration.NewValidatingWebhookConfigurationManager,
		func(*webhookutil.ClientManager) generic.Dispatcher { return nil },
	)
	if err != nil {
		return nil, err
	}
	g.plugin.SetExternalKubeClientSet(client)
	g.plugin.SetExternalKubeInformerFactory(factory)
	if err := g.plugin.ValidateInitialization(); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return g, nil
}

// admit returns why the API server would refuse the request, nil when it would not.
func (g *gate) admit(r *http.Request, info *request.RequestInfo) *apierrors.StatusError {
	operation, asked := operationOf(info)
	if !asked || exempt(info) {
		return nil
	}
	unserved := g.unserved(info, operation)
	if len(unserved) == 0 {
		return nil
	}
	attributes, err := g.attributes(r, info, operation)
	if err != nil || attributes == nil {
		return nil // the server refuses the request by itself, and says why
	}
	for _, hook := range unserved {
		invocation, refused := g.plugin.ShouldCallHook(r.Context(), hook, attributes, mapper{hook}, versions{attributes})
		if refused != nil {
			return refused
		}
		if invocation == nil {
			continue
		}
		if reason := g.services.unavailable(r.Context(), hook); reason != "" {
			return refusal(hook, reason)
		}
	}
	return nil
}

// unserved returns the webhooks that fail closed, that may be asked about such requests, and that no
// ready endpoint serves as far as is known.
func (g *gate) unserved(info *request.RequestInfo, operation admission.Operation) []webhook.WebhookAccessor {
	var found []webhook.WebhookAccessor
	for _, hook := range g.services.webhooks() {
		if failsClosed(hook) && mayConcern(hook, info, operation) && !g.services.hasReadyEndpoint(hook) {
			found = append(found, hook)
		}
	}
	return found
}

func failsClosed(hook webhook.WebhookAccessor) bool {
	policy := admissionv1.Fail
	if validating, ok := hook.GetValidatingWebhook(); ok && validating.FailurePolicy != nil {
		policy = *validating.FailurePolicy
	}
	if mutating, ok := hook.GetMutatingWebhook(); ok && mutating.FailurePolicy != nil {
		policy = *mutating.FailurePolicy
	}
	return policy == admissionv1.Fail && clientOf(hook).Service != nil
}

func clientOf(hook webhook.WebhookAccessor) admissionv1.WebhookClientConfig {
	if validating, ok := hook.GetValidatingWebhook(); ok {
		return validating.ClientConfig
	}
	mutating, _ := hook.GetMutatingWebhook()
	return mutating.ClientConfig
}

// mayConcern is a quick look at group and resource, so that most requests are not looked at closely.
func mayConcern(hook webhook.WebhookAccessor, info *request.RequestInfo, operation admission.Operation) bool {
	for _, rule := range hook.GetRules() {
		if hasAny(rule.APIGroups, info.APIGroup) && concerns(rule.Resources, info) && operates(rule.Operations, operation) {
			return true
		}
	}
	return false
}

func hasAny(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

func concerns(resources []string, info *request.RequestInfo) bool {
	whole := info.Resource
	if info.Subresource != "" {
		whole += "/" + info.Subresource
	}
	for _, name := range []string{"*/*", whole, info.Resource + "/*", "*/" + info.Subresource} {
		if slices.Contains(resources, name) {
			return true
		}
	}
	return info.Subresource == "" && slices.Contains(resources, "*")
}

func operates(list []admissionv1.OperationType, operation admission.Operation) bool {
	// an update of what is not there is a creation
	asked := []admissionv1.OperationType{admissionv1.OperationAll, admissionv1.OperationType(operation)}
	if operation == admission.Update {
		asked = append(asked, admissionv1.Create)
	}
	return slices.ContainsFunc(asked, func(o admissionv1.OperationType) bool { return slices.Contains(list, o) })
}

func operationOf(info *request.RequestInfo) (admission.Operation, bool) {
	if !info.IsResourceRequest {
		return "", false
	}
	switch info.Subresource {
	case "exec", "attach", "portforward", "proxy":
		return admission.Connect, true
	}
	switch info.Verb {
	case "create":
		return admission.Create, true
	case "update", "patch":
		return admission.Update, true
	case "delete", "deletecollection":
		return admission.Delete, true
	}
	return "", false
}

func configuresWebhooks(info *request.RequestInfo) bool {
	return exempt(info) && (info.Resource == "mutatingwebhookconfigurations" || info.Resource == "validatingwebhookconfigurations")
}

// exempt are the objects that configure admission: the API server asks no webhook about them.
func exempt(info *request.RequestInfo) bool {
	return info.APIGroup == "admissionregistration.k8s.io"
}

func refusal(hook webhook.WebhookAccessor, reason string) *apierrors.StatusError {
	client, timeout := clientOf(hook).Service, 10
	if validating, ok := hook.GetValidatingWebhook(); ok && validating.TimeoutSeconds != nil {
		timeout = int(*validating.TimeoutSeconds)
	}
	if mutating, ok := hook.GetMutatingWebhook(); ok && mutating.TimeoutSeconds != nil {
		timeout = int(*mutating.TimeoutSeconds)
	}
	port, path := 443, "/"
	if client.Port != nil {
		port = int(*client.Port)
	}
	if client.Path != nil {
		path = *client.Path
	}
	url := fmt.Sprintf("https://%s.%s.svc:%d%s?timeout=%ds", client.Name, client.Namespace, port, path, timeout)
	return apierrors.NewInternalError(&webhookutil.ErrCallingWebhook{
		WebhookName: hook.GetName(),
		Reason:      fmt.Errorf("failed to call webhook: Post %q: %s", url, reason),
	})
}

// attributes describes the request as the API server's admission sees it; nil where the server will
// refuse it without asking anybody.
func (g *gate) attributes(r *http.Request, info *request.RequestInfo, operation admission.Operation) (admission.Attributes, error) {
	var before, after *unstructured.Unstructured
	var err error
	if info.Name != "" && operation != admission.Create && operation != admission.Connect {
		if before, err = g.ask(r, http.MethodGet, r.URL.Path, nil); err != nil {
			return nil, err
		}
	}
	if operation == admission.Create || operation == admission.Update {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = newBody(body)
		query := r.URL.Query()
		query.Set("dryRun", "All")
		if after, err = g.ask(r, r.Method, r.URL.Path+"?"+query.Encode(), body); err != nil || after == nil {
			return nil, err
		}
		if before == nil {
			operation = admission.Create
		}
	}
	kind := schema.GroupVersionKind{Group: info.APIGroup, Version: info.APIVersion}
	name := info.Name
	for _, object := range []*unstructured.Unstructured{before, after} {
		if object != nil {
			kind, name = object.GroupVersionKind(), object.GetName()
		}
	}
	resource := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	return admission.NewAttributesRecord(
		orNil(after), orNil(before), kind, info.Namespace, name, resource, info.Subresource, operation, nil, false,
		&user.DefaultInfo{},
	), nil
}

// ask sends a request of the caller's own to the API server; nil is an answer that is no object.
func (g *gate) ask(r *http.Request, method, target string, body []byte) (*unstructured.Unstructured, error) {
	out, err := http.NewRequestWithContext(r.Context(), method, g.proxy.upstream.String()+target, newBody(body))
	if err != nil {
		return nil, err
	}
	out.Header = r.Header.Clone()
	out.Header.Set("Accept", "application/json")
	out.Header.Del("Accept-Encoding")
	out.ContentLength = int64(len(body))
	identify(out, r)
	answer, err := g.proxy.transportFor(r).RoundTrip(out)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		if answer.StatusCode == http.StatusNotFound && method == http.MethodGet {
			return nil, nil
		}
		return nil, errors.New(answer.Status)
	}
	object := &unstructured.Unstructured{}
	return object, json.NewDecoder(answer.Body).Decode(&object.Object)
}

// written waits until the gate knows what was just written, so that the next request meets it.
func (g *gate) written(info *request.RequestInfo, answer *http.Response) {
	if !configuresWebhooks(info) || answer.StatusCode >= 300 || (info.Verb != "create" && info.Verb != "update" && info.Verb != "patch") {
		return
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body = newBody(body)
	if err != nil {
		return
	}
	var object unstructured.Unstructured
	if json.Unmarshal(body, &object.Object) != nil {
		return
	}
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	for limit := time.Now().Add(5 * time.Second); err == nil && time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		if g.services.seen(info.Resource, object.GetName()) >= version {
			return
		}
	}
}
