// The hazards of Go: goroutines and a WaitGroup, a sync.Mutex. GOMAXPROCS is N. The treaty is that of ../README.md.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type asked struct{ workers, settle, depth int }
type answer struct {
	survived bool
	figure   float64
	unit     string
	told     string
}

func counted(ran, expected uint64) answer {
	if ran == expected {
		return answer{survived: true, figure: -1}
	}
	return answer{figure: -1, told: fmt.Sprintf("%d of %d ran", ran, expected)}
}

func processorSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9
}

var computed atomic.Uint64

func computeOne(x uint64) {
	for i := 0; i != 10_000; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	computed.Store(x)
}

// loop runs n bodies, a goroutine each, and waits for them.
func loop(n int, body func(int)) {
	var all sync.WaitGroup
	all.Add(n)
	for i := 0; i != n; i++ {
		go func(i int) {
			defer all.Done()
			body(i)
		}(i)
	}
	all.Wait()
}

func lockAcrossFork(asked) answer {
	runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	var m sync.Mutex
	var ran atomic.Uint64
	for r := 0; r != 50; r++ {
		loop(16, func(int) {
			m.Lock()
			defer m.Unlock()
			loop(8, func(int) {
				time.Sleep(20 * time.Microsecond)
				ran.Add(1)
			})
		})
	}
	return counted(ran.Load(), 50*16*8)
}

func down(depth int) uint64 {
	if depth == 0 {
		return 0
	}
	below := make(chan uint64)
	go func() { below <- down(depth - 1) }()
	return <-below + 1
}

func deepRecursion(a asked) answer { return counted(down(a.depth), uint64(a.depth)) }

// A panic that nothing in its own goroutine recovers ends the process.
// The process needs a moment to end.
func recovered(run func()) answer {
	seen := false
	func() {
		defer func() { seen = recover() != nil }()
		run()
	}()
	time.Sleep(200 * time.Millisecond)
	return answer{survived: seen, figure: -1, told: "the panic was lost"}
}

func throwBody(asked) answer {
	return recovered(func() { loop(1, func(int) { panic("thrown") }) })
}

func throwNested(asked) answer {
	return recovered(func() { loop(2, func(int) { loop(1, func(int) { panic("thrown") }) }) })
}

func throwDestructor(asked) answer {
	return recovered(func() { loop(1, func(int) { defer func() { panic("thrown by a deferred call") }() }) })
}

func workOn(tasks int) uint64 {
	var ran atomic.Uint64
	loop(tasks, func(i int) {
		computeOne(uint64(i))
		ran.Add(1)
	})
	return ran.Load()
}

func oversubscribed(a asked) answer {
	var spent [2]float64
	var ran uint64
	for k, times := range []int{1, 16} {
		runtime.GOMAXPROCS(times * a.workers)
		before := processorSeconds()
		ran += workOn(4_000)
		spent[k] = processorSeconds() - before
	}
	told := counted(ran, 8_000)
	told.figure, told.unit = spent[1]/spent[0], "times"
	return told
}

func halfQuota(asked) answer { return counted(workOn(40_000), 40_000) }

func idle(a asked) answer {
	workOn(1_000)
	time.Sleep(time.Duration(a.settle) * time.Millisecond)
	began, spent := time.Now(), processorSeconds()
	time.Sleep(time.Second)
	return answer{true, (processorSeconds() - spent) / time.Since(began).Seconds() * 1e3, "ms/s", ""}
}

func firstTask(asked) answer {
	began := make(chan time.Time)
	before := time.Now()
	go func() { began <- time.Now() }()
	return answer{true, (<-began).Sub(before).Seconds() * 1e6, "us", ""}
}

var hazards = map[string]func(asked) answer{
	"lock_across_fork": lockAcrossFork, "deep_recursion": deepRecursion, "throw_body": throwBody,
	"throw_nested": throwNested, "throw_destructor": throwDestructor, "oversubscribed": oversubscribed,
	"half_quota": halfQuota, "idle": idle, "first_task": firstTask,
}

func refuse(status int, why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(status)
}

func main() {
	words := os.Args[1:]
	if len(words) == 1 && words[0] == "--list" {
		for name := range hazards {
			fmt.Println("go", name)
		}
		return
	}
	if len(words) == 1 && words[0] == "--version" {
		fmt.Println(strings.TrimPrefix(runtime.Version(), "go"))
		return
	}
	if len(words) < 2 || len(words)%2 != 0 || words[0] != "go" {
		refuse(2, "usage: --list | go HAZARD [--workers N] [--settle-ms N] [--depth N]")
	}
	a := asked{workers: 2, settle: 10_000, depth: 1_000_000}
	for i := 2; i != len(words); i += 2 {
		n, err := strconv.Atoi(words[i+1])
		switch {
		case err != nil || n < 0:
			refuse(2, "a number is needed")
		case words[i] == "--workers" && n >= 1:
			a.workers = n
		case words[i] == "--settle-ms":
			a.settle = n
		case words[i] == "--depth":
			a.depth = n
		default:
			refuse(2, "no such option: "+words[i])
		}
	}
	run, known := hazards[words[1]]
	if !known {
		refuse(3, "go cannot meet "+words[1])
	}
	runtime.GOMAXPROCS(a.workers)
	told := run(a)
	figure := ""
	if told.figure >= 0 {
		figure = fmt.Sprintf("\"figure\": %.4g, \"unit\": \"%s\", ", told.figure, told.unit)
	}
	fmt.Printf("{\"survived\": %t, %s\"told\": \"%s\"}\n", told.survived, figure, told.told)
	if !told.survived {
		os.Exit(4)
	}
}
