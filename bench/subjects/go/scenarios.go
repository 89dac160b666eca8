// The scenarios that Go expresses. Twins of bench/scenarios/, under the same names.
package main

import (
	"runtime"
	"sync/atomic"
	"time"
)

var calibrated = param{name: "ops", optional: true, least: 1, most: 1 << 40}

func count(name string, standard, least, most uint64) param {
	return param{name: name, standard: standard, least: least, most: most}
}

func tasksOf(standard uint64) param {
	return count("tasks", standard, 1, 100000000)
}

var scenarios = []scenario{
	{"timer_lateness", []param{count("delay_us", 1000, 1, 60000000), count("pending", 1, 1, 1000000),
		count("ops", 200, 1, 100000000)}, timerLateness},
	{"mixed_load", []param{count("rate", 1000, 1, 1000000000), count("compute_us", 2000, 1, 1000000),
		{name: "compute_workers", optional: true, least: 1, most: 1024}, {name: "beside", words: besideWords},
		count("slice_us", 0, 0, 1000000)}, mixedLoad},
	{"timers", []param{count("pending", 4000, 1, 4000000), calibrated}, timers},
	{"successor", []param{count("chains", 1, 1, 16384), calibrated}, successor},
	{"spawn_many_local", []param{tasksOf(10000), calibrated}, spawnManyLocal},
	{"ping_pong", []param{tasksOf(1000), calibrated}, pingPong},
	{"yield_many", []param{tasksOf(200), count("yields", 1000, 0, 1000000), calibrated}, yieldMany},
	{"chained_spawn", []param{tasksOf(1000), calibrated}, chainedSpawn},
	{"fib", []param{count("n", 27, 0, 60), calibrated}, fib},
	{"tree_sum", []param{count("nodes", 1<<20-1, 1, 1<<27-1), calibrated}, treeSum},
	{"skynet", []param{count("leaves", 1000000, 1, 1000000000), calibrated}, skynet},
	{"nqueens", []param{count("n", 10, 1, 20), calibrated}, nqueens},
	{"uts", []param{count("depth", 10, 0, 13), calibrated}, uts},
	{"matmul", []param{count("n", 512, 32, 8192), calibrated}, matmul},
	{"msg_ping_pong", []param{count("pings", 40000, 1, 1000000000), calibrated}, msgPingPong},
	{"msg_count", []param{count("messages", 1000000, 1, 1000000000), calibrated}, msgCount},
	{"msg_ring", []param{count("processes", 100, 2, 1000000), count("hops", 100000, 1, 1000000000), calibrated}, msgRing},
	{"msg_create", []param{count("processes", 40000, 1, 1<<24), calibrated}, msgCreate},
	{"msg_throughput", []param{count("processes", 60, 1, 1000000), count("messages", 10000, 1, 1000000000),
		count("rounds", 0, 0, 1000000000), calibrated}, msgThroughput},
	{"chameneos", []param{count("processes", 100, 2, 1000000), count("meetings", 200000, 1, 1000000000), calibrated},
		chameneos},
	{"big", []param{count("processes", 120, 1, 1000000), count("pings", 20000, 1, 1000000), calibrated}, big},
	{"bounded_buffer", []param{count("capacity", 50, 1, 1000000), count("producers", 40, 1, 1000000),
		count("consumers", 40, 1, 1000000), count("items", 1000, 1, 1000000), calibrated}, boundedBuffer},
	{"idle_processes", []param{count("processes", 100000, 1, 1<<24), calibrated}, idleProcesses},
	{"graph", graphParams, graph},
	{"graph_again", graphParams, graphAgain},
	{"echo", serverParams, echo},
	{"echo_beside", append(serverParams[:3:3], count("compute_us", 2000, 1, 1000000),
		param{name: "compute_workers", optional: true, least: 1, most: 1024}, param{name: "beside", words: besideWords}), echoBeside},
	{"fan_out", append(serverParams[:3:3], count("backends", 8, 1, 64), count("ask", 3, 1, 64)), fanOut},
}

var besideWords = []string{"own", "workers", "second", "rayon"}

var graphParams = []param{{name: "pattern", words: patterns}, count("width", 8, 1, 4096), count("steps", 1000, 1, 1<<24),
	count("iterations", 0, 0, 1<<32), calibrated}

// Blocks of iterations of `tasks`; begin(l, first, tasks) starts one.
func measureIterations(c *call, begin func(l *ledger, first, tasks uint64)) (*report, error) {
	tasks := c.param("tasks")
	if ops, fixed := c.params["ops"]; fixed && ops%tasks != 0 {
		return nil, bad("--param ops=%d is not a multiple of tasks=%d, the size of an iteration", ops, tasks)
	}
	l := newLedger(c)
	return blocks(c, tasks, func(ops uint64) block {
		return iterations(l, ops, tasks, func(first uint64) { begin(l, first, tasks) })
	}), nil
}

func chain(l *ledger, i, step, end uint64) {
	if i+step < end {
		go chain(l, i+step, step, end)
	}
	l.complete(i)
}

func successor(c *call) (*report, error) {
	chains := c.param("chains")
	if ops, fixed := c.params["ops"]; fixed && chains > ops {
		return nil, bad("--param chains=%d is more than ops=%d", chains, ops)
	}
	l := newLedger(c)
	return blocks(c, 16384, func(ops uint64) block {
		return iterations(l, ops, ops, func(uint64) {
			for k := uint64(0); k < chains; k++ {
				go chain(l, k, chains, ops)
			}
		})
	}), nil
}

func chainedSpawn(c *call) (*report, error) {
	return measureIterations(c, func(l *ledger, first, tasks uint64) {
		go func() { go chain(l, first, 1, first+tasks) }()
	})
}

func spawnManyLocal(c *call) (*report, error) {
	return measureIterations(c, func(l *ledger, first, tasks uint64) {
		go func() {
			for i := first; i < first+tasks; i++ {
				go l.complete(i)
			}
		}()
	})
}

func pingPong(c *call) (*report, error) {
	return measureIterations(c, func(l *ledger, first, tasks uint64) {
		go func() {
			for i := first; i < first+tasks; i++ {
				go func(i uint64) {
					message, answer := make(chan struct{}, 1), make(chan struct{}, 1)
					go func() {
						<-message
						answer <- struct{}{}
					}()
					message <- struct{}{}
					<-answer
					l.complete(i)
				}(i)
			}
		}()
	})
}

func yieldMany(c *call) (*report, error) {
	yields := c.param("yields")
	return measureIterations(c, func(l *ledger, first, tasks uint64) {
		for i := first; i < first+tasks; i++ {
			go func(i uint64) {
				for k := uint64(0); k < yields; k++ {
					runtime.Gosched()
				}
				l.complete(i)
			}(i)
		}
	})
}

// Operations of one goroutine of a chain, as elsewhere of one task.
const timersAtOnce = 64

// By time.AfterFunc, whose timers are armed whether or not anybody waits; Reset ends and arms.
func timers(c *call) (*report, error) {
	pending := make([]*time.Timer, c.param("pending"))
	var fired, missed atomic.Uint64
	armed, oldest := uint64(0), 0
	delay := func() time.Duration {
		const minute = 60_000_000_000
		armed++
		return time.Duration(minute + mix(armed-1)%minute)
	}
	for i := range pending {
		pending[i] = time.AfterFunc(delay(), func() { fired.Add(1) })
	}
	l := newLedger(c)
	var some func(i, end uint64)
	some = func(i, end uint64) {
		until := i + timersAtOnce
		if until > end {
			until = end
		}
		for ; i < until; i++ {
			if !pending[oldest].Reset(delay()) {
				missed.Add(1)
			}
			if oldest++; oldest == len(pending) {
				oldest = 0
			}
			l.complete(i) // with the last one the block may be over
		}
		if until < end {
			go some(until, end)
		}
	}
	r := blocks(c, 4096, func(ops uint64) block {
		return iterations(l, ops, ops, func(uint64) { go some(0, ops) })
	})
	for _, t := range pending {
		t.Stop()
	}
	if fired.Load() != 0 {
		r.wrong("a timeout fired that was to be cancelled a minute before")
	}
	if missed.Load() != 0 {
		r.wrong("the runtime said that a pending timeout was not pending")
	}
	return r, nil
}

func timerLateness(c *call) (*report, error) {
	ops, pending := c.param("ops"), c.param("pending")
	if pending > ops {
		return nil, bad("--param pending=%d is more than ops=%d, the number of timers in all", pending, ops)
	}
	l, delay := newLedger(c), time.Duration(c.param("delay_us"))*time.Microsecond
	lateness := make([]int64, ops) // each by its own timer
	next := uint64(0)
	var arm func()
	arm = func() {
		number := atomic.AddUint64(&next, 1) - 1
		if number >= ops {
			return
		}
		due := nowNs() + int64(delay)
		time.AfterFunc(delay, func() {
			lateness[number] = nowNs() - due
			arm()
			l.complete(number)
		})
	}
	b := iterations(l, ops, ops, func(uint64) {
		for i := uint64(0); i < pending; i++ {
			arm()
		}
	})
	r := newReport()
	for i, late := range lateness {
		if late < 0 {
			r.wrong("a timer fired before it was due")
			late = 0
		}
		if uint64(i) >= ops/10 {
			r.latency.record(uint64(late))
		}
	}
	r.put("warmup_blocks", 0)
	r.put("blocks", 1)
	r.put("ops", ops)
	r.put("wall_ns", b.wallNs)
	r.put("cpu_ns", b.cpuNs)
	r.put("check", sprintHex(b.sum))
	r.putLatency()
	r.audit("the run", b.sum, expectedSum(ops))
	return r, nil
}
