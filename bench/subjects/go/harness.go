// The harness in Go: clock, ledger, blocks, histogram, row. Step for step what bench/apiary/bench does.
package main

import (
	"bufio"
	"fmt"
	"math"
	"math/bits"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var base = time.Now()

// CLOCK_MONOTONIC, by the clock that time.Now carries.
func nowNs() int64 { return int64(time.Since(base)) }

func processCPUNs() int64 {
	var t syscall.Timespec
	const clockProcessCPU = 2
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockProcessCPU, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

//go:noinline
func multiply(times int64) uint64 {
	x := uint64(1)
	for i := int64(0); i < times; i++ {
		x = x*0x9E3779B97F4A7C15 + 1
	}
	return x
}

var perNs = func() float64 {
	const times = 100000
	best := int64(math.MaxInt64)
	for i := 0; i < 20; i++ {
		start := nowNs()
		multiply(times)
		if took := nowNs() - start; took < best {
			best = took
		}
	}
	return times / math.Max(float64(best), 1)
}()

// What stands behind it begins when what stands in front of it is done, in the processor, too, which runs code out of order.
func finishAllBefore() // in fence.s

func busyWaitNs(ns int64) {
	if ns < 2000 {
		times := int64(math.Max(math.Round(float64(ns)*perNs), 1))
		finishAllBefore() // what comes before the wait would else run beside it,
		multiply(times)
		finishAllBefore() // and so would what comes after
		return
	}
	for start := nowNs(); nowNs()-start < ns; {
	}
}

func mix(i uint64) uint64 {
	z := i + 0x9E3779B97F4A7C15
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// What task number i adds: 32 bits of hash above a one.
func mark(i uint64) uint64 { return mix(i)&^math.MaxUint32 | 1 }

func expectedSum(n uint64) (sum uint64) {
	for i := uint64(0); i < n; i++ {
		sum += mark(i)
	}
	return sum
}

// Every task adds the mark of its number, as its last act.
type ledger struct {
	_          [64]byte
	sum        uint64 // by tasks, atomically
	_          [56]byte
	expected   uint32
	slowdownNs int64
	end        chan int64
	_          [64]byte
	calls      uint64 // of the slow-down, atomically
}

func newLedger(c *call) *ledger { return &ledger{slowdownNs: c.slowdownNs, end: make(chan int64, 1)} }

func (l *ledger) open(n uint64) {
	atomic.StoreUint64(&l.sum, 0)
	l.expected = uint32(n)
}

// Every 64th call, in bursts as elsewhere; of all threads, since a goroutine has none of its own.
func (l *ledger) slowDown() {
	if l.slowdownNs != 0 && atomic.AddUint64(&l.calls, 1)%64 == 0 {
		busyWaitNs(l.slowdownNs)
	}
}

func (l *ledger) complete(i uint64) {
	l.slowDown()
	expected := l.expected
	if uint32(atomic.AddUint64(&l.sum, mark(i))) == expected {
		l.end <- nowNs()
	}
}

type block struct {
	ops, sum      uint64
	wallNs, cpuNs int64
}

func (b block) nsPerOp() float64 { return float64(b.wallNs) / float64(b.ops) }

// A block of iterations of `tasks` tasks each; begin(first) starts those numbered first … first+tasks-1.
func iterations(l *ledger, ops, tasks uint64, begin func(first uint64)) block {
	b := block{ops: ops}
	cpu := processCPUNs()
	for first := uint64(0); first < ops; first += tasks {
		l.open(tasks)
		start := nowNs()
		begin(first)
		b.wallNs += <-l.end - start
		b.cpuNs = processCPUNs() - cpu
		b.sum += atomic.LoadUint64(&l.sum)
	}
	return b
}

type report struct {
	columns    map[string]string
	latency    histogram
	complaints []string
	status     string
}

func (r *report) put(column string, value any) { r.columns[column] = fmt.Sprint(value) }

func (r *report) wrong(why string) {
	r.status = "wrong"
	r.complaints = append(r.complaints, why)
}

func (r *report) audit(what string, sum, expected uint64) {
	if sum != expected {
		r.wrong(fmt.Sprintf("%s: the sum is %016x, expected %016x: a task was lost, run twice or swapped", what, sum, expected))
	}
}

func newReport() *report { return &report{columns: map[string]string{}, status: "ok"} }

func decimal(v float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', 3, 64), "0"), ".")
}

// Calibration, warm-up until steady, and the median of the measured blocks.
func blocks(c *call, floor uint64, runBlock func(ops uint64) block) *report {
	r := newReport()
	sums := map[uint64]uint64{}
	count := 0
	one := func(ops uint64) block {
		b := runBlock(ops)
		if _, known := sums[ops]; !known {
			sums[ops] = expectedSum(ops)
		}
		count++
		r.audit(fmt.Sprintf("block %d", count), b.sum, sums[ops])
		return b
	}
	ops, fixed := c.params["ops"]
	if !fixed {
		for ops = floor; one(ops).wallNs < c.blockNs; ops *= 2 {
		}
	}
	steady, warm, before := 0, uint64(0), 0.0
	for ; steady == 0 && warm < c.warmup; warm++ {
		now := one(ops).nsPerOp()
		if before != 0 && math.Abs(now-before) <= 0.02*math.Min(now, before) {
			steady = 1
		}
		before = now
	}
	var all []block
	for i := uint64(0); i < c.blocks; i++ {
		all = append(all, one(ops))
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].nsPerOp() < all[j].nsPerOp() })
	b := all[(len(all)-1)/2]
	r.put("warmup_blocks", warm)
	r.put("steady", steady)
	r.put("blocks", c.blocks)
	r.put("ops", b.ops)
	r.put("wall_ns", b.wallNs)
	r.put("cpu_ns", b.cpuNs)
	r.put("ns_per_op", decimal(b.nsPerOp()))
	r.put("ops_per_s", decimal(1e9/b.nsPerOp()))
	r.put("check", fmt.Sprintf("%016x", b.sum))
	return r
}

const header = "scenario,workers,seed,warmup_blocks,steady,blocks,ops,wall_ns,cpu_ns,ns_per_op,ops_per_s,offered_per_s," +
	"achieved_per_s,lat_count,lat_min_ns,lat_p50_ns,lat_p90_ns,lat_p95_ns,lat_p99_ns,lat_p999_ns,lat_max_ns,lateness_p99_ns," +
	"nvcsw,nivcsw,minflt,maxrss_kib,allocs,wakes,parks,steals,check,flags,status"

func (r *report) print(name string, c *call) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	r.put("scenario", name)
	r.put("workers", c.workers)
	r.put("seed", c.seed)
	r.put("nvcsw", u.Nvcsw)
	r.put("nivcsw", u.Nivcsw)
	r.put("minflt", u.Minflt)
	r.put("maxrss_kib", peakResidentBytes()/1024)
	r.put("status", r.status)
	var cells []string
	for _, column := range strings.Split(header, ",") {
		cells = append(cells, r.columns[column])
	}
	fmt.Println(header)
	fmt.Println(strings.Join(cells, ","))
}

// Log-linear, 128 sub-buckets per octave (CSV.md).
type histogram struct {
	counts          map[int]uint64
	total           uint64
	least, greatest uint64
}

func bucketOf(v uint64) int {
	if v < 256 {
		return int(v)
	}
	b := bits.Len64(v) - 1
	return 256 + (b-8)*128 + int(v>>(b-7)) - 128
}

func edges(index int) (lo, hi uint64) {
	if index < 256 {
		return uint64(index), uint64(index)
	}
	width := uint64(1) << ((index-256)/128 + 1)
	lo = uint64((index-256)%128+128) * width
	return lo, lo + width - 1
}

func (h *histogram) record(v uint64) {
	if h.counts == nil {
		h.counts, h.least = map[int]uint64{}, v
	}
	h.counts[bucketOf(v)]++
	h.total++
	if v < h.least {
		h.least = v
	}
	if v > h.greatest {
		h.greatest = v
	}
}

func (h *histogram) filled() []int {
	var all []int
	for index := range h.counts {
		all = append(all, index)
	}
	sort.Ints(all)
	return all
}

func (h *histogram) write(to *os.File) error {
	out := bufio.NewWriter(to)
	fmt.Fprintln(out, "value_lo_ns,value_hi_ns,count")
	for _, index := range h.filled() {
		lo, hi := edges(index)
		fmt.Fprintf(out, "%d,%d,%d\n", lo, hi, h.counts[index])
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return to.Close()
}

var percentiles = []struct {
	name     string
	permille uint64
}{{"p50", 500}, {"p90", 900}, {"p95", 950}, {"p99", 990}, {"p999", 999}}

// The upper edge of the bucket that holds the rank, never above the greatest value.
func (h *histogram) percentile(permille uint64) uint64 {
	seen := uint64(0)
	for _, index := range h.filled() {
		if seen += h.counts[index]; seen >= h.rank(permille) {
			_, hi := edges(index)
			if hi > h.greatest {
				hi = h.greatest
			}
			return hi
		}
	}
	return 0
}

func (h *histogram) rank(permille uint64) uint64 {
	rank := (h.total*permille + 999) / 1000
	if rank < 1 {
		rank = 1
	}
	return rank
}

// False where it has too few samples above it; the median is printed of any.
func (h *histogram) printed(permille uint64) (uint64, bool) {
	if h.total == 0 || (permille != 500 && h.total-h.rank(permille) < 100) {
		return 0, false
	}
	return h.percentile(permille), true
}

func (r *report) putLatency() {
	h := &r.latency
	r.put("lat_count", h.total)
	if h.total == 0 {
		return
	}
	r.put("lat_min_ns", h.least)
	r.put("lat_max_ns", h.greatest)
	for _, q := range percentiles {
		if at, printed := h.printed(q.permille); printed {
			r.put("lat_"+q.name+"_ns", at)
		}
	}
}
