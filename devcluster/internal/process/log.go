package process

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"time"
)

// logWriter writes what a process says in the format of the container runtime interface, which the
// kubelet's own reader then reads: time, stream, F for a full line or P for a part of one, text.
type logWriter struct {
	mu    sync.Mutex
	file  *os.File
	parts map[string][]byte
}

const longestLine = 16 * 1024 // bytes; container runtimes cut there as well

func openLog(path string) (*logWriter, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &logWriter{file: file, parts: map[string][]byte{}}, err
}

type logStream struct {
	log  *logWriter
	name string
}

func (l *logWriter) stream(name string) *logStream { return &logStream{l, name} }

// Write takes any piece of output; lines are written when they are whole or too long.
func (s *logStream) Write(data []byte) (int, error) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	rest := append(s.log.parts[s.name], data...)
	for {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 && len(rest) < longestLine {
			break
		}
		tag, line := "F", rest
		if end < 0 || end > longestLine {
			tag, line, rest = "P", rest[:longestLine], rest[longestLine:]
		} else {
			line, rest = rest[:end], rest[end+1:]
		}
		s.log.line(s.name, tag, line)
	}
	s.log.parts[s.name] = bytes.Clone(rest)
	return len(data), nil
}

func (l *logWriter) line(stream, tag string, text []byte) {
	var whole bytes.Buffer
	whole.WriteString(time.Now().UTC().Format(time.RFC3339Nano) + " " + stream + " " + tag + " ")
	whole.Write(text)
	whole.WriteByte('\n')
	_, _ = l.file.Write(whole.Bytes()) // a full disk is no reason to stop the process
}

// flush writes lines that the process did not end.
func (l *logWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, text := range l.parts {
		if len(text) > 0 {
			l.line(name, "F", text)
		}
	}
	l.parts = map[string][]byte{}
}

func (l *logWriter) close() { _ = l.file.Close() }

// lastLines returns the end of a log: 80 lines and 2 KB at most, as Kubernetes has it.
func lastLines(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	var text []string
	for _, line := range lines[max(0, len(lines)-80):] {
		if fields := strings.SplitN(line, " ", 4); len(fields) == 4 {
			text = append(text, fields[3])
		}
	}
	joined := strings.Join(text, "\n")
	return joined[max(0, len(joined)-2048):]
}
