// mixed_load: posts beside tasks that compute, as Go has them: all are goroutines on the same N processors.
//
// A post comes from outside, as a request does: a second process of this program, whose one thread is the injector, writes it to a
// pipe at its time, a goroutine reads the pipe and starts a goroutine for each. What lies between is part of the latency.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	injectWord   = "inject" // the first argument of the second process; the second is the plan
	leadNs       = 10000000
	spinNs       = 80000
	settleNs     = 20000000
	patienceNs   = 100000000
	clockMono    = 1
	clockThread  = 3
	longestJump  = 100000 // between two looks at a thread's clock; a longer one is another thread's
	letterLength = 16
)

func clockNs(clock uintptr) int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// CLOCK_MONOTONIC less nowNs: both count on from their start.
func monotonicOffset() int64 {
	best, least := int64(0), int64(math.MaxInt64)
	for i := 0; i < 20; i++ {
		before := nowNs()
		there := clockNs(clockMono)
		if after := nowNs(); after-before < least {
			best, least = there-(before+after)/2, after-before
		}
	}
	return best
}

func readPlan(path string) ([]int64, error) {
	if path == "" {
		return nil, bad("--plan is missing")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, bad("--plan: cannot read '%s'", path)
	}
	defer file.Close()
	var all []int64
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		text := lines.Text()
		if strings.HasPrefix(text, "#") {
			continue
		}
		at, err := strconv.ParseUint(text, 10, 63)
		if err != nil || strings.HasPrefix(text, "+") || (len(all) > 0 && int64(at) < all[len(all)-1]) {
			return nil, bad("--plan: expected a time that is not before the last, seen '%s'", text)
		}
		all = append(all, int64(at))
	}
	if lines.Err() != nil || len(all) == 0 {
		return nil, bad("--plan: '%s' holds no time", path)
	}
	return all, nil
}

// The second process: writes a letter for each post to its standard output: when it was released, and when the write before was
// back. Before them: the start, and whether no thread of ordinary priority displaces it; after them its processor time.
func inject(path string) int {
	plan, err := readPlan(path)
	if err != nil {
		return fail(err)
	}
	runtime.LockOSThread()
	const timerSlack, fifo, resetOnFork = 29, 1, 0x40000000
	syscall.RawSyscall(syscall.SYS_PRCTL, timerSlack, 1, 0)
	priority := int32(1)
	_, _, refused := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, fifo|resetOnFork, uintptr(unsafe.Pointer(&priority)))
	send := func(a, b int64) {
		var letter [letterLength]byte
		binary.LittleEndian.PutUint64(letter[:8], uint64(a))
		binary.LittleEndian.PutUint64(letter[8:], uint64(b))
		if _, err := syscall.Write(1, letter[:]); err != nil {
			os.Exit(fail(err))
		}
	}
	margin := int64(spinNs)
	if runtime.NumCPU() == 1 {
		margin = 0 // looking at the clock would keep the runtime from running
	}
	zero := clockNs(clockMono) + leadNs
	send(zero, int64(refused))
	back := int64(0)
	for _, offset := range plan {
		now := clockNs(clockMono)
		if due := zero + offset; now < due {
			if now < due-margin {
				until := syscall.NsecToTimespec(due - margin)
				const absolute = 1
				syscall.RawSyscall6(syscall.SYS_CLOCK_NANOSLEEP, clockMono, absolute, uintptr(unsafe.Pointer(&until)), 0, 0, 0)
			}
			for now < due {
				now = clockNs(clockMono)
			}
		}
		send(now, back)
		back = clockNs(clockMono)
	}
	send(clockNs(clockThread), back)
	return 0
}

// Tasks that compute, in an account of their own.
type computeLoad struct {
	tasks    uint64 // at a time
	workNs   int64
	off      uint32
	handedIn uint64
	sum      uint64
	live     sync.WaitGroup
}

// Twice as many at a time as there are threads for them.
func newComputeLoad(c *call) *computeLoad {
	threads := c.workers
	if given, ok := c.params["compute_workers"]; ok {
		threads = given
	}
	return &computeLoad{tasks: 2 * threads, workNs: int64(c.param("compute_us")) * 1000}
}

func (load *computeLoad) begin() {
	load.live.Add(int(load.tasks))
	for k := uint64(0); k < load.tasks; k++ {
		load.start()
	}
}

func (load *computeLoad) callEnd() { atomic.StoreUint32(&load.off, 1) }

func (load *computeLoad) start() {
	number := atomic.AddUint64(&load.handedIn, 1) - 1
	go load.run(number)
}

func (load *computeLoad) run(number uint64) {
	for used, last := int64(0), clockNs(clockThread); used < load.workNs; {
		now := clockNs(clockThread)
		if step := now - last; step > 0 && step < longestJump {
			used += step
		}
		last = now
	}
	atomic.AddUint64(&load.sum, mark(number))
	if atomic.LoadUint32(&load.off) == 0 {
		load.start()
	} else {
		load.live.Done()
	}
}

type moment struct {
	ns   int64
	done uint64
}

func (load *computeLoad) at() moment {
	return moment{nowNs(), atomic.LoadUint64(&load.sum) & math.MaxUint32}
}

// For a quarter of the plan's length, once they have all begun.
func (load *computeLoad) countAlone(plan []int64) (first, middle moment) {
	time.Sleep(settleNs)
	first = load.at()
	time.Sleep(time.Duration(first.ns + plan[len(plan)-1]/4 - nowNs()))
	return first, load.at()
}

func (load *computeLoad) flags(c *call, first, middle, last moment, injectorNs int64) []string {
	flags := []string{fmt.Sprintf("compute_tasks=%d;compute_ns=%d", last.done-middle.done, last.ns-middle.ns)}
	processors := int64(c.workers)
	if usable := int64(runtime.NumCPU()); usable < processors {
		processors = usable
	}
	if lost, told := lostPpm(first, middle, last, processors, injectorNs); told {
		flags = append(flags, fmt.Sprintf("compute_lost_ppm=%d", lost))
	}
	return flags
}

// In millionths, of the throughput alone; false where one task is more than a hundredth of what was done alone.
func lostPpm(first, middle, last moment, processors, injectorNs int64) (int64, bool) {
	alone, beside := float64(middle.done-first.done), float64(last.done-middle.done)
	aloneNs := float64((middle.ns - first.ns) * processors)
	besideNs := float64((last.ns-middle.ns)*processors - injectorNs)
	if alone < 100 || besideNs <= 0 {
		return 0, false
	}
	return int64(math.Round((1 - beside/besideNs/(alone/aloneNs)) * 1e6)), true
}

func mixedLoad(c *call) (*report, error) {
	if means := besideWords[c.param("beside")]; c.param("slice_us") != 0 && means != "workers" {
		return nil, bad("--param slice_us: compute tasks offer their slice to posts where beside=workers alone")
	} else if means != "workers" {
		return nil, unsupported("all goroutines are on the same processors; beside=workers")
	}
	if c.param("slice_us") != 0 {
		return nil, unsupported("the runtime takes the processor from a goroutine by itself; slice_us=0")
	}
	plan, err := readPlan(c.plan)
	if err != nil {
		return nil, err
	}
	load := newComputeLoad(c)
	load.begin()
	first, middle := load.countAlone(plan)

	n := len(plan)
	l, finished, injected, backs := newLedger(c), make([]int64, n), make([]int64, n), make([]int64, n+1)
	l.open(uint64(n))
	cpu := processCPUNs()
	posts, outside, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	other := exec.Command("/proc/self/exe", injectWord, c.plan)
	other.Stdout, other.Stderr = outside, os.Stderr
	if err := other.Start(); err != nil {
		return nil, err
	}
	outside.Close()
	var zero, plain, injectorNs int64
	read := make(chan error, 1)
	go func() {
		in := bufio.NewReaderSize(posts, 1<<16)
		var letter [letterLength]byte
		for i := -1; i <= n; i++ {
			if _, err := io.ReadFull(in, letter[:]); err != nil {
				read <- err
				return
			}
			a, b := int64(binary.LittleEndian.Uint64(letter[:8])), int64(binary.LittleEndian.Uint64(letter[8:]))
			switch {
			case i < 0:
				zero, plain = a, b
			case i == n:
				injectorNs, backs[n] = a, b
			default:
				injected[i], backs[i] = a, b
				go func(i int) {
					finished[i] = nowNs()
					l.complete(uint64(i))
				}(i)
			}
		}
		read <- nil
	}()
	if err := other.Wait(); err != nil {
		return nil, err
	}
	last := load.at()
	time.Sleep(patienceNs)
	ended := nowNs()
	load.callEnd()
	if err := <-read; err != nil {
		return nil, err
	}
	<-l.end
	cpu = processCPUNs() - cpu
	load.live.Wait()

	r := newReport()
	var punctual, lateness histogram
	offset, lastFinished, starved, free := monotonicOffset(), int64(0), 0, int64(0)
	for i, intended := range plan {
		ideal := zero + intended
		if plain == 0 && free > ideal {
			ideal = free
		}
		late := injected[i] - ideal
		free = ideal + backs[i+1] - injected[i]
		if finished[i] > ended {
			starved++
		}
		at := finished[i] + offset - zero
		if at > lastFinished {
			lastFinished = at
		}
		if i >= n/10 {
			r.latency.record(uint64(max64(at-intended, 0)))
			punctual.record(uint64(max64(at-intended-late, 0)))
			lateness.record(uint64(late))
		}
	}
	offered, achieved := float64(n)*1e9/float64(plan[n-1]), float64(n)*1e9/float64(lastFinished)
	r.put("warmup_blocks", 0)
	r.put("blocks", 1)
	r.put("ops", n)
	r.put("cpu_ns", cpu)
	r.put("wall_ns", last.ns-middle.ns)
	if plan[n-1] > 0 {
		r.put("offered_per_s", decimal(offered))
	}
	r.put("achieved_per_s", decimal(achieved))
	r.put("check", sprintHex(atomic.LoadUint64(&l.sum)))
	r.putLatency()
	if at, printed := lateness.printed(990); printed {
		r.put("lateness_p99_ns", at)
	}
	var flags []string
	for _, q := range percentiles {
		if at, printed := r.latency.printed(q.permille); printed && float64(punctual.percentile(q.permille)) < 0.8*float64(at) {
			flags = append(flags, "injector_limited_"+q.name)
		}
	}
	if achieved/offered < 0.99 {
		flags = append(flags, "overloaded")
	}
	if plain != 0 {
		flags = append(flags, "injector_plain")
	}
	flags = append(flags, fmt.Sprintf("injector_us=%d", injectorNs/1000), fmt.Sprintf("starved_ppm=%d", starved*1000000/n))
	flags = append(flags, load.flags(c, first, middle, last, injectorNs)...)
	r.put("flags", strings.Join(flags, ";"))
	r.audit("the run", atomic.LoadUint64(&l.sum), expectedSum(uint64(n)))
	r.audit("the load", atomic.LoadUint64(&load.sum), expectedSum(load.handedIn))
	return r, nil
}

func max64(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}
