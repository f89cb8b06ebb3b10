package prepare

import (
	"embed"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed stages/*.yaml
var stages embed.FS

// writeStages joins the stages into the one file that kwok is started with. The nodes' port is the
// agent's: kwok's own server authenticates nobody, so it is not started.
func writeStages(o Options) error {
	entries, err := fs.ReadDir(stages, "stages")
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, entry := range entries {
		data, err := stages.ReadFile("stages/" + entry.Name())
		if err != nil {
			return err
		}
		text.WriteString("---\n")
		text.WriteString(strings.ReplaceAll(string(data), "@AGENT_PORT@", strconv.Itoa(o.AgentPort)))
	}
	return replace(filepath.Join(o.Dir, "kwok.yaml"), []byte(text.String()))
}
