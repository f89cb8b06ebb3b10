// Package sandbox gives a local process the file system of a container: the machine's own, with the
// pod's volumes where the pod wants them. What is written elsewhere goes to memory and is gone with the
// process.
//
// It works in a private mount namespace and needs root. Without, a process finds its volumes below
// the folder that ARGOSY_MOUNT_ROOT names. The network, the users and the processes are the machine's.
package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Mount puts a folder or a file of the machine in the process's sight.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// Spec is what a process is started with.
type Spec struct {
	Mounts  []Mount  `json:"mounts"`
	Args    []string `json:"args"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	Scratch string   `json:"scratch"` // an empty folder, used as a mount point
}

// Main is the subcommand `container FILE`: become the process that the file describes, in a mount
// namespace that the caller has made. `container --check` says by its exit code whether that works.
func Main(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "container: give the file that describes the process")
		return 2
	}
	if err := become(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "container:", err)
		return 128 // what container runtimes say when a container could not be started
	}
	return 0
}

// Works says whether private file systems can be made here, by making one.
func Works(dir string) bool {
	if os.Geteuid() != 0 {
		return false
	}
	spec := Spec{Args: []string{"true"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/", Scratch: dir}
	file := filepath.Join(dir, "check.json")
	if err := Write(file, spec); err != nil {
		return false
	}
	command := exec.Command("/proc/self/exe", "container", file)
	command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return command.Run() == nil
}

// Write writes a spec; it may hold secrets in its environment, so only its owner reads it.
func Write(file string, spec Spec) error {
	data, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

func become(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var spec Spec
	if err := json.Unmarshal(data, &spec); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil {
		return err
	}
	for n := range spec.Mounts {
		// before the root changes: a link to an absolute path means something else afterwards
		if spec.Mounts[n].Source, err = filepath.EvalSymlinks(spec.Mounts[n].Source); err != nil {
			return err
		}
	}
	root, err := makeRoot(spec.Scratch)
	if err != nil {
		return err
	}
	if err := enter(root, spec.Mounts); err != nil {
		return err
	}
	if err := os.MkdirAll(spec.Dir, 0o755); err != nil {
		return err
	}
	if err := os.Chdir(spec.Dir); err != nil {
		return err
	}
	program, err := find(spec)
	if err != nil {
		return err
	}
	return syscall.Exec(program, spec.Args, spec.Env)
}

// find looks a program up on the process's own PATH.
func find(spec Spec) (string, error) {
	for _, variable := range spec.Env {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			if err := os.Setenv("PATH", path); err != nil {
				return "", err
			}
		}
	}
	program, err := exec.LookPath(spec.Args[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil
	}
	return program, err
}

// makeRoot lays memory over the machine's file systems; devices are a container's few.
func makeRoot(scratch string) (string, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", err
	}
	mounts, err := realMounts()
	if err != nil {
		return "", err
	}
	if err := unix.Mount("tmpfs", scratch, "tmpfs", 0, "mode=0755"); err != nil {
		return "", err
	}
	root := filepath.Join(scratch, "root")
	for n, place := range append([]string{"/"}, mounts...) {
		if err := overlay(scratch, root, place, n); err != nil {
			return "", fmt.Errorf("overlay over %s: %w", place, err)
		}
	}
	for _, kernel := range []string{"/proc", "/sys"} {
		if err := unix.Mount(kernel, root+kernel, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return "", err
		}
	}
	return root, nil
}

// overlay shows the file system that is mounted at place; what is written to it goes to scratch.
func overlay(scratch, root, place string, n int) error {
	upper, work := fmt.Sprintf("%s/upper-%d", scratch, n), fmt.Sprintf("%s/work-%d", scratch, n)
	target := filepath.Join(root, place)
	for _, folder := range []string{upper, work, target} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if info, err := os.Stat(place); err == nil { // such as /tmp with its sticky bit
		if err := os.Chmod(upper, info.Mode()&os.ModePerm|info.Mode()&os.ModeSticky); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", place, upper, work)
	err := unix.Mount("overlay", target, "overlay", 0, options)
	if err != nil && n > 0 { // a file system that cannot be laid under another is shown as it is
		if err = unix.Mount(place, target, "", unix.MS_BIND, ""); err == nil {
			err = unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
		}
	}
	return err
}

// realMounts returns where other file systems with files of people are mounted, outermost first.
func realMounts() ([]string, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var found []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		separator := slices.Index(fields, "-")
		if len(fields) < 5 || separator < 0 || strings.Contains(fields[4], `\`) {
			continue
		}
		place, kind := fields[4], fields[separator+1]
		kernel := slices.Contains([]string{"/", "/proc", "/sys", "/dev"}, place) ||
			strings.HasPrefix(place, "/proc/") || strings.HasPrefix(place, "/sys/") || strings.HasPrefix(place, "/dev/")
		if info, err := os.Stat(place); kernel || kind == "overlay" && place == "/" || err != nil || !info.IsDir() {
			continue
		}
		if !slices.Contains(found, place) {
			found = append(found, place)
		}
	}
	slices.Sort(found)
	return found, nil
}

// enter makes root the root, puts the mounts in it, and lets go of what was there. Targets are looked
// up in the new root, where a link such as /var/run leads to where it leads in a container.
func enter(root string, mounts []Mount) error {
	if err := os.Mkdir(root+old, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(root, root+old); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := devices(); err != nil {
		return err
	}
	for _, mount := range mounts {
		if err := bind(mount); err != nil {
			return fmt.Errorf("mount %s: %w", mount.Target, err)
		}
	}
	if err := unix.Unmount(old, unix.MNT_DETACH); err != nil {
		return err
	}
	return os.Remove(old)
}

// old is where the machine's own root is while the process's is put together.
const old = "/.argosy-old-root"

func devices() error {
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "pts", "shm"} {
		if _, err := os.Stat(old + "/dev/" + name); err != nil {
			continue // a machine without it
		}
		if err := bind(Mount{Source: "/dev/" + name, Target: "/dev/" + name}); err != nil {
			return err
		}
	}
	links := map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	}
	for name, target := range links {
		if err := os.Symlink(target, "/dev/"+name); err != nil {
			return err
		}
	}
	return nil
}

func bind(mount Mount) error {
	source := old + mount.Source
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(mount.Target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(mount.Target), 0o755); err == nil {
		var file *os.File
		if file, err = os.OpenFile(mount.Target, os.O_CREATE, 0o644); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(source, mount.Target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if mount.ReadOnly {
		return unix.Mount("", mount.Target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	return nil
}
