// Subject `go`: the Go runtime with GOMAXPROCS=N behind bench/contract/CLI.md; standard library only.
//
// A task is a goroutine, a yield is runtime.Gosched, a delayed post is time.AfterFunc, a message a channel, a join a
// sync.WaitGroup, a connection a goroutine with a net.Conn. Every thread that runs Go code is a worker of the runtime, so there
// is no "outside": scenarios that post from outside are unsupported, but for mixed_load (beside.go), as are those that aim at a
// worker or ask which thread they run on. Roots are started by
// the main goroutine. The garbage collector is left as its users have it.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Everything the treaty names, so that what is missing here is `unsupported` and not unknown.
const treaty = "post_throughput post_latency timer_lateness timers targeted_throughput targeted_latency steal_pressure mixed_load " +
	"latency_vs_load successor spawn_many_local spawn_many_remote_idle spawn_many_remote_busy1 spawn_many_remote_busy2 " +
	"ping_pong yield_many chained_spawn remote_spawn fib tree_sum skynet nqueens uts matmul loop_empty loop_for loop_reduce loop_scan loop_sort msg_ping_pong msg_count msg_ring " +
	"msg_create msg_throughput chameneos big bounded_buffer idle_processes restart_storm graph graph_again wake_chain idle_cpu echo fan_out echo_beside"

type param struct {
	name        string
	standard    uint64 // 0 with optional: not given
	optional    bool
	least, most uint64
	words       []string // where the value is one of these
}

type scenario struct {
	name    string
	params  []param
	measure func(*call) (*report, error)
}

// The arguments of `run`, checked.
type call struct {
	workers, warmup, blocks uint64
	seed                    uint64
	blockNs, slowdownNs     int64
	plan, hist, load        string
	params                  map[string]uint64
}

func (c *call) param(name string) uint64 { return c.params[name] }

var errBad = errors.New("bad arguments")

func bad(format string, words ...any) error {
	return fmt.Errorf("%w: %s", errBad, fmt.Sprintf(format, words...))
}

func number(what, text string, least, most uint64) (uint64, error) {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil || strings.HasPrefix(text, "+") || value < least || value > most {
		return 0, bad("%s: expected a whole number from %d to %d, seen '%s'", what, least, most, text)
	}
	return value, nil
}

func names() string {
	var all []string
	for _, s := range scenarios {
		all = append(all, s.name)
	}
	return strings.Join(all, ", ")
}

func parse(words []string) (*scenario, *call, error) {
	options := map[string]string{"--scenario": "", "--workers": "", "--seed": "1", "--warmup-blocks": "5", "--blocks": "3",
		"--block-ms": "100", "--plan": "", "--hist": "", "--load": "", "--slowdown-ns": "0"}
	var given []string
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return nil, nil, bad("%s needs a value", words[i])
		}
		if words[i] == "--param" {
			given = append(given, words[i+1])
		} else if _, known := options[words[i]]; known {
			options[words[i]] = words[i+1]
		} else {
			return nil, nil, bad("unknown option %s; there are: --scenario, --workers, --param, --seed, --warmup-blocks, "+
				"--blocks, --block-ms, --plan, --hist, --load, --slowdown-ns", words[i])
		}
	}
	var found *scenario
	for i := range scenarios {
		if scenarios[i].name == options["--scenario"] {
			found = &scenarios[i]
		}
	}
	if found == nil {
		for _, name := range strings.Fields(treaty) {
			if name == options["--scenario"] {
				return nil, nil, nil
			}
		}
		return nil, nil, bad("--scenario: unknown scenario '%s'; there are: %s", options["--scenario"], names())
	}
	c := &call{plan: options["--plan"], hist: options["--hist"], load: options["--load"], params: map[string]uint64{}}
	var blockMs, slowdown uint64
	for _, n := range []struct {
		to          *uint64
		option      string
		least, most uint64
	}{{&c.workers, "--workers", 1, 1024}, {&c.seed, "--seed", 0, 1<<64 - 1}, {&c.warmup, "--warmup-blocks", 0, 1000},
		{&c.blocks, "--blocks", 1, 1000}, {&blockMs, "--block-ms", 1, 60000}, {&slowdown, "--slowdown-ns", 0, 1000000000}} {
		value, err := number(n.option, options[n.option], n.least, n.most)
		if err != nil {
			return nil, nil, err
		}
		*n.to = value
	}
	c.blockNs, c.slowdownNs = int64(blockMs)*1000000, int64(slowdown)
	return found, c, readParams(found, c, given)
}

// The index of a word, where the parameter has words.
func numberOrWord(what, text string, p param) (uint64, error) {
	if p.words == nil {
		return number(what, text, p.least, p.most)
	}
	for i, word := range p.words {
		if word == text {
			return uint64(i), nil
		}
	}
	return 0, bad("%s: seen '%s'; there are: %s", what, text, strings.Join(p.words, ", "))
}

func readParams(s *scenario, c *call, given []string) error {
	var known []string
	for _, p := range s.params {
		known = append(known, p.name)
	}
next:
	for _, text := range given {
		key, value, _ := strings.Cut(text, "=")
		for _, p := range s.params {
			if p.name == key {
				n, err := numberOrWord("--param "+key, value, p)
				if err != nil {
					return err
				}
				c.params[key] = n
				continue next
			}
		}
		return bad("--param: %s has no parameter '%s'; there are: %s", s.name, key, strings.Join(known, ", "))
	}
	for _, p := range s.params {
		if _, ok := c.params[p.name]; !ok && !p.optional {
			c.params[p.name] = p.standard
		}
	}
	return nil
}

var errUnsupported = errors.New("unsupported")

func unsupported(why string) error { return fmt.Errorf("%w: %s", errUnsupported, why) }

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "go:", err)
	if errors.Is(err, errUnsupported) {
		return 3
	}
	if errors.Is(err, errBad) {
		return 2
	}
	return 1
}

func run(words []string) int {
	s, c, err := parse(words)
	if err != nil {
		return fail(err)
	}
	if s == nil {
		fmt.Fprintln(os.Stderr, "go: unsupported: this scenario cannot be expressed by this runtime; --list names what can")
		return 3
	}
	var hist *os.File
	if c.hist != "" { // opened first: a wrong path should cost no measurement
		if hist, err = os.Create(c.hist); err != nil {
			return fail(bad("--hist: cannot write '%s'", c.hist))
		}
	}
	runtime.GOMAXPROCS(int(c.workers))
	r, err := s.measure(c)
	if err != nil {
		return fail(err)
	}
	r.print(s.name, c)
	if hist != nil && !isServer(s.name) { // else the load program has written it
		if err := r.latency.write(hist); err != nil {
			return fail(err)
		}
	}
	for _, why := range r.complaints {
		fmt.Fprintln(os.Stderr, "go: wrong:", why)
	}
	if len(r.complaints) > 0 {
		return 4
	}
	return 0
}

func main() {
	words := os.Args[1:]
	switch {
	case len(words) == 1 && words[0] == "--version":
		version := strings.TrimPrefix(runtime.Version(), "go")
		fmt.Printf(`{"subject":"go","subject_version":"%s","language":"go","build_id":"%s %s; flags=default; allocator=go"}`+"\n",
			version, runtime.Version(), runtime.GOARCH)
	case len(words) == 1 && words[0] == "--list":
		fmt.Println(strings.ReplaceAll(names(), ", ", "\n"))
	case len(words) == 2 && words[0] == injectWord:
		os.Exit(inject(words[1]))
	case len(words) > 0 && words[0] == "run":
		os.Exit(run(words[1:]))
	default:
		os.Exit(fail(bad("expected one of: --version, --list, run; seen '%s'", strings.Join(words, " "))))
	}
}
