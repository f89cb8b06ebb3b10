package prepare

import (
	"encoding/json"
	"os"
	"path/filepath"
)

type kubeconfig struct {
	APIVersion     string    `json:"apiVersion"`
	Kind           string    `json:"kind"`
	CurrentContext string    `json:"current-context"`
	Clusters       []cluster `json:"clusters"`
	Users          []user    `json:"users"`
	Contexts       []context `json:"contexts"`
}

type cluster struct {
	Name    string      `json:"name"`
	Cluster clusterBody `json:"cluster"`
}

type clusterBody struct {
	Server string `json:"server"`
	CA     []byte `json:"certificate-authority-data"`
}

type user struct {
	Name string   `json:"name"`
	User userBody `json:"user"`
}

type userBody struct {
	Certificate []byte `json:"client-certificate-data,omitempty"`
	Key         []byte `json:"client-key-data,omitempty"`
	Token       string `json:"token,omitempty"`
}

type context struct {
	Name    string      `json:"name"`
	Context contextBody `json:"context"`
}

type contextBody struct {
	Cluster string `json:"cluster"`
	User    string `json:"user"`
}

// writeKubeconfigs writes the user's kubeconfig (two contexts: by client certificate, which is the
// current one, and by token) and one for each component.
func writeKubeconfigs(o Options, pki, token string) error {
	name := "argosy-" + o.Name
	main, err := withCertificate(name, o.Server, pki, "admin")
	if err != nil {
		return err
	}
	main.Users = append(main.Users, user{name + "-token", userBody{Token: token}})
	main.Contexts = append(main.Contexts, context{name + "-token", contextBody{name, name + "-token"}})
	if err := write(filepath.Join(o.Dir, "kubeconfig"), main); err != nil {
		return err
	}
	for _, component := range []string{"controller-manager", "scheduler", "kwok", "agent-client"} {
		config, err := withCertificate(name, o.Server, pki, component)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(pki, component+".kubeconfig"), config); err != nil {
			return err
		}
	}
	return nil
}

func withCertificate(name, server, pki, certificate string) (*kubeconfig, error) {
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, err
	}
	crt, err := os.ReadFile(filepath.Join(pki, certificate+".crt"))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(filepath.Join(pki, certificate+".key"))
	if err != nil {
		return nil, err
	}
	return &kubeconfig{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters: []cluster{{name, clusterBody{server, ca}}},
		Users:    []user{{name, userBody{Certificate: crt, Key: key}}},
		Contexts: []context{{name, contextBody{name, name}}},
	}, nil
}

// write writes JSON, which every reader of kubeconfigs takes for the YAML that it is.
func write(path string, config *kubeconfig) error {
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return replace(path, append(data, '\n'))
}
