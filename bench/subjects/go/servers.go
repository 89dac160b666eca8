// The servers echo, echo_beside and fan_out: package net, a goroutine for each connection, a bufio.Reader that reads ahead. The load
// program asks them (CLI.md, "Servers").
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

var serverParams = []param{count("connections", 1, 1, 20000), count("bytes", 64, 16, 65536), count("rate", 1000, 1, 1000000000)}

func isServer(name string) bool { return name == "echo" || name == "fan_out" || name == "echo_beside" }

func echo(c *call) (*report, error) { return serve(c, "echo", 0, 0, nothing, nothing) }

func nothing() {}

// Beside goroutines that compute, on the same processors.
func echoBeside(c *call) (*report, error) {
	if besideWords[c.param("beside")] != "workers" {
		return nil, unsupported("all goroutines are on the same processors; beside=workers")
	}
	plan, err := readPlan(c.plan)
	if err != nil {
		return nil, err
	}
	load := newComputeLoad(c)
	var first, middle, last moment
	before := func() {
		load.begin()
		first, middle = load.countAlone(plan)
	}
	after := func() {
		last = load.at()
		load.callEnd()
		load.live.Wait()
	}
	r, err := serve(c, "echo", 0, 0, before, after)
	if err != nil {
		return nil, err
	}
	r.put("flags", strings.Join(append(strings.FieldsFunc(r.columns["flags"], func(c rune) bool { return c == ';' }),
		load.flags(c, first, middle, last, 0)...), ";"))
	r.audit("the load", atomic.LoadUint64(&load.sum), expectedSum(load.handedIn))
	return r, nil
}

func fanOut(c *call) (*report, error) {
	backends, ask := c.param("backends"), c.param("ask")
	if ask > backends {
		return nil, bad("--param ask=%d is more than backends=%d", ask, backends)
	}
	return serve(c, "fan_out", backends, ask, nothing, nothing)
}

// The child, and its two pipes.
type load struct {
	child   *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Reader
}

func startLoad(c *call, name string, backends, ask uint64) (*load, error) {
	words := []string{"--scenario", name, "--connections", fmt.Sprint(c.param("connections")), "--bytes", fmt.Sprint(c.param("bytes")),
		"--plan", c.plan, "--seed", fmt.Sprint(c.seed)}
	if name == "fan_out" {
		words = append(words, "--backends", fmt.Sprint(backends), "--ask", fmt.Sprint(ask))
	}
	if c.hist != "" {
		words = append(words, "--hist", c.hist)
	}
	child := exec.Command(c.load, words...)
	child.Stderr = os.Stderr
	orders, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("--load: cannot start %s: %w", c.load, err)
	}
	return &load{child, orders, bufio.NewReader(answers)}, nil
}

func (l *load) kill() {
	_ = l.child.Process.Kill()
	_ = l.child.Wait()
}

// Waits for it, and says how it ended.
func (l *load) ending() string {
	_ = l.child.Wait() // its error is what the state says
	if status, ok := l.child.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("signal %d, %v", status.Signal(), status.Signal())
	}
	return l.child.ProcessState.String()
}

// Reads a line, which must begin with the word, and returns the words after it.
func (l *load) hear(word string) ([]string, error) {
	line, err := l.answers.ReadString('\n')
	words := strings.Fields(line)
	if err == nil && len(words) > 0 && words[0] == word {
		return words[1:], nil
	}
	if line == "" {
		return nil, fmt.Errorf("the load program should have said '%s': it ended (%s)", word, l.ending())
	}
	return nil, fmt.Errorf("the load program should have said '%s': seen %q", word, line)
}

func (l *load) tell(line string) error {
	_, err := io.WriteString(l.orders, line+"\n")
	return err
}

// The plan's faults are bad arguments; the load program is what keeps to it.
func checkPlan(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return bad("--plan: %v", err)
	}
	before, times := uint64(0), 0
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		time, err := strconv.ParseUint(line, 10, 63)
		if err != nil || line[0] == '+' {
			return bad("--plan: line %d: expected one non-negative integer, seen '%s'", i+1, line)
		}
		if time < before {
			return bad("--plan: line %d: the times must ascend, seen %d after %d", i+1, time, before)
		}
		before, times = time, times+1
	}
	if times == 0 {
		return bad("--plan: no release time in %s", path)
	}
	return nil
}

const measuredByLoad = "ops wall_ns offered_per_s achieved_per_s lat_count lat_min_ns lat_p50_ns lat_p90_ns lat_p95_ns lat_p99_ns " +
	"lat_p999_ns lat_max_ns lateness_p99_ns check flags"

// before is called once all connections are warm, after when all is answered.
func serve(c *call, name string, backends, ask uint64, before, after func()) (*report, error) {
	if c.plan == "" {
		return nil, bad("--plan is missing; %s is an open loop and takes its release times from it", name)
	}
	if c.load == "" {
		return nil, bad("--load is missing; the load program that it names asks the server of %s", name)
	}
	if err := checkPlan(c.plan); err != nil {
		return nil, err
	}
	l, err := startLoad(c, name, backends, ask)
	if err != nil {
		return nil, err
	}
	defer l.kill()
	s := &server{bytes: c.param("bytes"), ask: ask, slow: newLedger(c)}
	ports, err := l.hear("backends")
	if err != nil {
		return nil, err
	}
	for _, port := range ports {
		s.backends = append(s.backends, "127.0.0.1:"+port)
	}
	if uint64(len(ports)) != backends {
		return nil, fmt.Errorf("the load program should have said %d ports: seen %v", backends, ports)
	}
	if s.listener, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go s.accept()
	if err := l.tell(fmt.Sprintf("port %d", s.listener.Addr().(*net.TCPAddr).Port)); err != nil {
		return nil, err
	}
	if _, err := l.hear("begin"); err != nil {
		return nil, err
	}
	before()
	cpu := processCPUNs()
	if err := l.tell("go"); err != nil {
		return nil, err
	}
	pairs, err := l.hear("end")
	if err != nil {
		return nil, err
	}
	cpu = processCPUNs() - cpu
	after()
	r := newReport()
	wrong, err := r.putEnd(pairs)
	if err != nil {
		return nil, err
	}
	ended := l.child.Wait()
	s.listener.Close()
	s.open.Wait()
	var status *exec.ExitError
	if errors.As(ended, &status) && status.ExitCode() == 4 {
		r.wrong("the load program saw an answer after the end, or a connection that the server kept")
	} else if ended != nil {
		return nil, fmt.Errorf("the load program failed: %w", ended)
	}
	if wrong {
		r.wrong("the load program saw a wrong answer")
	}
	ops, err := strconv.ParseUint(r.columns["ops"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("ops of the load program: %w", err)
	}
	sum, err := strconv.ParseUint(r.columns["check"], 16, 64)
	if err != nil {
		return nil, fmt.Errorf("check of the load program: %w", err)
	}
	r.audit("the run", sum, expectedSum(ops))
	r.put("warmup_blocks", 0)
	r.put("blocks", 1)
	r.put("cpu_ns", cpu)
	return r, nil
}

// The columns that the load program measured, each once; whether it saw a wrong answer.
func (r *report) putEnd(pairs []string) (wrong bool, err error) {
	seen := map[string]string{}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		seen[key] = value
	}
	keys := strings.Fields(measuredByLoad)
	for _, key := range keys {
		value, there := seen[key]
		if !there || strings.ContainsAny(value, ",\"") {
			return false, fmt.Errorf("the load program's result should hold %s=, seen %v", key, pairs)
		}
		r.put(key, value)
	}
	if _, there := seen["wrong"]; !there || len(pairs) != len(keys)+1 {
		return false, fmt.Errorf("the load program's result should hold wrong and %s, seen %v", measuredByLoad, pairs)
	}
	return seen["wrong"] != "0", nil
}

type server struct {
	listener   net.Listener
	backends   []string
	bytes, ask uint64
	slow       *ledger // for its slow-down alone
	open       sync.WaitGroup
}

// Until the listener is closed.
func (s *server) accept() {
	for {
		client, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.open.Add(1)
		go func() {
			defer s.open.Done()
			defer client.Close()
			s.answer(client)
		}()
	}
}

// Larger than a message, so that one read gets a message and what follows it. Package net turns TCP_NODELAY on by itself.
func (s *server) reader(of net.Conn) *bufio.Reader {
	size := 2 * int(s.bytes)
	if size < 16*1024 {
		size = 16 * 1024
	}
	return bufio.NewReaderSize(of, size)
}

// A connection until it ends, in whatever way. An echo answers all that a read has brought with one write.
func (s *server) answer(client net.Conn) {
	type backend struct {
		net.Conn
		reader *bufio.Reader
	}
	var backends []backend
	for _, address := range s.backends {
		conn, err := net.Dial("tcp4", address)
		if err != nil {
			return
		}
		defer conn.Close()
		backends = append(backends, backend{conn, s.reader(conn)})
	}
	reader, message, reply := s.reader(client), make([]byte, s.bytes), make([]byte, s.bytes)
	writer := bufio.NewWriterSize(client, reader.Size())
	for {
		if _, err := io.ReadFull(reader, message); err != nil {
			return
		}
		number := binary.LittleEndian.Uint64(message)
		value := mix(number)
		if s.ask > 0 {
			value = 0
			n := uint64(len(backends))
			for j := uint64(0); j < s.ask; j++ {
				if _, err := backends[(number+j)%n].Write(message); err != nil {
					return
				}
			}
			for j := uint64(0); j < s.ask; j++ {
				if _, err := io.ReadFull(backends[(number+j)%n].reader, reply); err != nil {
					return
				}
				value += binary.LittleEndian.Uint64(reply[8:])
			}
		}
		s.slow.slowDown()
		binary.LittleEndian.PutUint64(message[8:], value)
		if _, err := writer.Write(message); err != nil {
			return
		}
		if s.ask > 0 || reader.Buffered() < len(message) {
			if err := writer.Flush(); err != nil {
				return
			}
		}
	}
}
