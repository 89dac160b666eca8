// Graphs of dependent tasks by counters: a counter of producers for each task, a list of its consumers, a goroutine for what has
// become ready. All tasks are submitted first. graph_again runs a graph that was built once again and again.
package main

import (
	"math/bits"
	"sort"
	"sync/atomic"
)

const none = ^uint64(0)

// Tasks in ascending order of their ids: those of task i are producers[first[i]:first[i+1]].
type taskList struct {
	first, all []uint64
}

func (t *taskList) tasks() uint64 { return uint64(len(t.first) - 1) }

func (t *taskList) producers(id uint64) []uint64 { return t.all[t.first[id]:t.first[id+1]] }

func (t *taskList) add(found []uint64) {
	sort.Slice(found, func(i, j int) bool { return found[i] < found[j] })
	for i, one := range found {
		if i == 0 || found[i-1] != one {
			t.all = append(t.all, one)
		}
	}
	t.first = append(t.first, uint64(len(t.all)))
}

var patterns = []string{"stencil_1d", "nearest", "spread", "fft", "tree", "random_nearest", "chain", "wavefront", "layered", "cholesky"}

func points(kind string, width, step uint64) uint64 {
	if kind == "tree" && step < 32 && 1<<step < width {
		return 1 << step
	}
	return width
}

func tasksOfPattern(kind string, width, steps uint64) (all uint64) {
	if kind == "cholesky" {
		return width * (width + 1) * (width + 2) / 6
	}
	if kind != "tree" {
		return width * steps
	}
	for s := uint64(0); s < steps; s++ {
		all += points(kind, width, s)
	}
	return all
}

func layOut(kind string, width, steps uint64) *taskList {
	t := &taskList{first: []uint64{0}}
	levels := uint64(bits.Len64(width - 1))
	if levels == 0 {
		levels = 1
	}
	before, here := uint64(0), uint64(0)
	for s := uint64(0); s < steps; s++ {
		there := uint64(0)
		if s > 0 {
			there = points(kind, width, s-1)
		}
		for i := uint64(0); i < points(kind, width, s); i++ {
			var found []uint64
			point := func(p uint64) { // an index below 0 has wrapped
				if p < there {
					found = append(found, before+p)
				}
			}
			switch kind {
			case "stencil_1d":
				for k := uint64(0); k < 3; k++ {
					point(i + k - 1)
				}
			case "nearest":
				for k := uint64(0); k < 5; k++ {
					point(i + k - 2)
				}
			case "spread":
				point(i)
				for k := uint64(1); k < 5; k++ {
					point((i + k*width/5 + s%width) % width)
				}
			case "fft":
				far := uint64(1) << ((s + levels - 1) % levels)
				point(i - far)
				point(i)
				point(i + far)
			case "tree":
				point(i / 2)
			case "random_nearest":
				point(i)
				for k := uint64(0); k < 5; k++ {
					if mix((here+i)*8+k)%2 == 1 {
						point(i + k - 2)
					}
				}
			case "chain":
				point(i)
			case "wavefront":
				point(i)
				if i > 0 {
					found = append(found, here+i-1)
				}
			case "layered":
				for k := uint64(0); k < 3; k++ {
					point(mix((here+i)*8+k) % width)
				}
			}
			t.add(found)
		}
		before, here = here, here+points(kind, width, s)
	}
	return t
}

func factorise(tiles uint64) *taskList {
	t := &taskList{first: []uint64{0}}
	last := map[[2]uint64]uint64{} // which task wrote a tile last
	writes := func(i, j uint64, reads ...[2]uint64) {
		var found []uint64
		for _, tile := range append(reads, [2]uint64{i, j}) {
			if writer, known := last[tile]; known {
				found = append(found, writer)
			}
		}
		last[[2]uint64{i, j}] = t.tasks()
		t.add(found)
	}
	for k := uint64(0); k < tiles; k++ {
		writes(k, k)
		for i := k + 1; i < tiles; i++ {
			writes(i, k, [2]uint64{k, k})
		}
		for i := k + 1; i < tiles; i++ {
			for j := k + 1; j < i; j++ {
				writes(i, j, [2]uint64{i, k}, [2]uint64{j, k})
			}
			writes(i, i, [2]uint64{i, k})
		}
	}
	return t
}

type edge struct{ consumer, next uint64 }

type graphNode struct {
	consumers uint64 // the first of its edges
	pending   uint32 // atomically, once tasks run
	expects   uint32 // how many producers
}

type valueGraph struct {
	*taskList
	iterations uint64
	values     []uint64
	l          *ledger
	nodes      []graphNode
	edges      []edge
	roots      []uint64
	endsInAll  uint64
	ends       uint64 // atomically, once tasks run
}

func (g *valueGraph) value(id uint64) uint64 {
	sum := id
	for _, producer := range g.producers(id) {
		sum += g.values[producer]
	}
	x := mix(sum)
	for k := uint64(0); k < g.iterations; k++ {
		x = x*0x9E3779B97F4A7C15 + 1
	}
	return x
}

func (g *valueGraph) answer() (sum uint64) {
	for _, one := range g.values {
		sum += one
	}
	return sum
}

func (g *valueGraph) submit(id uint64) {
	mine := &g.nodes[id]
	producers := g.producers(id)
	mine.consumers = none
	mine.expects = uint32(len(producers))
	atomic.StoreUint32(&mine.pending, mine.expects)
	if len(producers) == 0 {
		g.roots = append(g.roots, id)
	}
	for _, producer := range producers {
		g.edges = append(g.edges, edge{id, g.nodes[producer].consumers})
		g.nodes[producer].consumers = uint64(len(g.edges) - 1)
	}
}

func (g *valueGraph) run(id uint64) {
	g.l.slowDown()
	g.values[id] = g.value(id)
	at, ready := g.nodes[id].consumers, none
	if at == none && atomic.AddUint64(&g.ends, none) == 0 {
		g.l.end <- nowNs()
	}
	for at != none {
		one := g.edges[at] // read first: the last one taken off may end the graph
		if atomic.AddUint32(&g.nodes[one.consumer].pending, ^uint32(0)) == 0 {
			if ready != none {
				go g.run(ready)
			}
			ready = one.consumer
		}
		at = one.next
	}
	if ready != none {
		go g.run(ready)
	}
}

// Submits all.
func (g *valueGraph) build() {
	g.edges, g.roots = g.edges[:0], g.roots[:0]
	if g.nodes == nil {
		g.nodes = make([]graphNode, g.tasks())
	}
	for id := uint64(0); id < g.tasks(); id++ {
		g.submit(id)
	}
	g.endsInAll = 0
	for id := range g.nodes {
		if g.nodes[id].consumers == none {
			g.endsInAll++
		}
	}
}

// Sets the counters of a graph that has run.
func (g *valueGraph) setAgain() {
	for id := range g.nodes {
		atomic.StoreUint32(&g.nodes[id].pending, g.nodes[id].expects)
	}
}

// Starts what needs nothing, and waits.
func (g *valueGraph) start() int64 {
	atomic.StoreUint64(&g.ends, g.endsInAll)
	for _, id := range g.roots {
		go g.run(id)
	}
	return <-g.l.end
}

func graph(c *call) (*report, error) { return graphs(c, false) }

func graphAgain(c *call) (*report, error) { return graphs(c, true) }

// Each operation builds the graph and runs it, or, with `again`, runs the one that was built before.
func graphs(c *call, again bool) (*report, error) {
	kind, width, steps := patterns[c.param("pattern")], c.param("width"), c.param("steps")
	if tasksOfPattern(kind, width, steps) > 1<<24 {
		return nil, bad("--param width=%d and steps=%d make more than %d tasks", width, steps, 1<<24)
	}
	g := &valueGraph{iterations: c.param("iterations"), l: newLedger(c)}
	if kind == "cholesky" {
		g.taskList = factorise(width)
	} else {
		g.taskList = layOut(kind, width, steps)
	}
	tasks := g.tasks()
	g.values = make([]uint64, tasks)
	for id := range g.values {
		g.values[id] = g.value(uint64(id))
	}
	expected, before, grown := g.answer(), peakResidentBytes(), none
	if again {
		g.build()
	}
	r := blocks(c, 1, func(ops uint64) block {
		b := block{ops: ops}
		cpu := processCPUNs()
		for i := uint64(0); i < ops; i++ {
			for id := range g.values {
				g.values[id] = 0
			}
			start := nowNs()
			if again {
				g.setAgain()
			} else {
				g.build()
			}
			b.wallNs += g.start() - start
			b.cpuNs = processCPUNs() - cpu
			b.sum += mark(i + g.answer() - expected)
			if grown == none {
				grown = peakResidentBytes() - before
			}
		}
		return b
	})
	r.put("flags", sprintFlag("tasks_per_op", tasks)+";"+sprintFlag("edges_per_op", uint64(len(g.all)))+";"+
		sprintFlag("answer", expected%1000000000)+";"+sprintFlag("bytes_each", grown/tasks))
	return r, nil
}
