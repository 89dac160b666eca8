// skynet, nqueens, uts, matmul: a goroutine per child but the last, a WaitGroup per node. forks.go has fib and tree_sum.
package main

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"syscall"
	"unsafe"
)

func sprintHex(v uint64) string { return fmt.Sprintf("%016x", v) }

func sprintFlag(name string, value uint64) string { return fmt.Sprintf("%s=%d", name, value) }

// A tree whose nodes are N: children, the k-th of them, a node's own value.
type tree[N any] struct {
	root     N
	children func(N) int
	child    func(N, int) N
	value    func(N) uint64
}

func (t *tree[N]) serial(node N) uint64 {
	sum := t.value(node)
	for k, n := 0, t.children(node); k < n; k++ {
		sum += t.serial(t.child(node, k))
	}
	return sum
}

func (t *tree[N]) join(l *ledger, node N) uint64 {
	l.slowDown()
	n, sum := t.children(node), t.value(node)
	if n == 0 {
		return sum
	}
	parts := make([]uint64, n)
	var wg sync.WaitGroup
	wg.Add(n - 1)
	for k := 0; k < n-1; k++ {
		go func(k int) {
			parts[k] = t.join(l, t.child(node, k))
			wg.Done()
		}(k)
	}
	parts[n-1] = t.join(l, t.child(node, n-1))
	wg.Wait()
	for _, part := range parts {
		sum += part
	}
	return sum
}

func measureTree[N any](c *call, t tree[N]) (*report, error) {
	expected := t.serial(t.root)
	l := newLedger(c)
	return blocks(c, 1, func(ops uint64) block {
		return iterations(l, ops, 1, func(i uint64) {
			go func() { l.complete(i + t.join(l, t.root) - expected) }()
		})
	}), nil
}

func skynet(c *call) (*report, error) {
	type node struct{ first, size uint64 }
	leaves := c.param("leaves")
	rest := leaves
	for rest%10 == 0 {
		rest /= 10
	}
	if rest != 1 {
		return nil, bad("--param leaves=%d is not a power of ten", leaves)
	}
	return measureTree(c, tree[node]{
		root: node{0, leaves},
		children: func(n node) int {
			if n.size > 1 {
				return 10
			}
			return 0
		},
		child: func(n node, k int) node { return node{n.first + uint64(k)*(n.size/10), n.size / 10} },
		value: func(n node) uint64 {
			if n.size > 1 {
				return 0
			}
			return n.first
		},
	})
}

func nqueens(c *call) (*report, error) {
	type board struct{ columns, falling, rising, row uint32 }
	n := uint32(c.param("n"))
	free := func(b board) uint32 {
		if b.row == n {
			return 0
		}
		return ^(b.columns | b.falling | b.rising) & (1<<n - 1)
	}
	return measureTree(c, tree[board]{
		children: func(b board) int { return bits.OnesCount32(free(b)) },
		child: func(b board, k int) board {
			open := free(b)
			for ; k > 0; k-- {
				open &= open - 1
			}
			queen := open & -open
			return board{b.columns | queen, (b.falling | queen) << 1, (b.rising | queen) >> 1, b.row + 1}
		},
		value: func(b board) uint64 {
			if b.row == n {
				return 1
			}
			return 0
		},
	})
}

func uts(c *call) (*report, error) {
	type node struct {
		state  [sha1.Size]byte
		height uint64
	}
	depth, perChild := c.param("depth"), math.Log(1-1/(1+4.0))
	var seed [20]byte
	binary.BigEndian.PutUint32(seed[16:], 19)
	return measureTree(c, tree[node]{
		root: node{sha1.Sum(seed[:]), 0},
		children: func(n node) int {
			if n.height >= depth {
				return 0
			}
			u := float64(binary.BigEndian.Uint32(n.state[16:])&0x7FFFFFFF) / (1 << 31)
			return int(math.Min(math.Floor(math.Log(1-u)/perChild), 100))
		},
		child: func(n node, k int) node {
			var bytes [24]byte
			copy(bytes[:], n.state[:])
			binary.BigEndian.PutUint32(bytes[20:], uint32(k))
			return node{sha1.Sum(bytes[:]), n.height + 1}
		},
		value: func(node) uint64 { return 1 },
	})
}

type matrices struct {
	n       uint64
	a, b, c []uint32
}

// Words at a boundary of 2 MiB, in huge pages where the system gives them on request (CLI.md). Never freed.
func hugeWords(n uint64) ([]uint32, error) {
	const boundary = 1 << 21
	bytes := (n*4 + boundary - 1) / boundary * boundary
	all, err := syscall.Mmap(-1, 0, int(bytes+boundary), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("no memory for a table of %d bytes: %w", bytes, err)
	}
	first := -uintptr(unsafe.Pointer(&all[0])) % boundary
	table := all[first : first+uintptr(bytes)]
	_ = syscall.Madvise(table, syscall.MADV_HUGEPAGE) // a system without them is no error
	return unsafe.Slice((*uint32)(unsafe.Pointer(&table[0])), n), nil
}

// A square block of each, by its upper left corner: C[i,j] += A[i,k]·B[k,j].
type product struct{ i, j, k, size uint64 }

func (p product) part(phase, q uint64) product {
	half := p.size / 2
	return product{p.i + q/2*half, p.j + q%2*half, p.k + phase*half, half}
}

func (m *matrices) leaf(p product) {
	for i := p.i; i < p.i+p.size; i++ {
		c := m.c[i*m.n+p.j : i*m.n+p.j+p.size]
		for k := p.k; k < p.k+p.size; k++ {
			a, b := m.a[i*m.n+k], m.b[k*m.n+p.j:k*m.n+p.j+p.size]
			for j := range c {
				c[j] += a * b[j]
			}
		}
	}
}

func (m *matrices) join(l *ledger, p product) {
	if p.size == 32 {
		l.slowDown()
		m.leaf(p)
		return
	}
	for phase := uint64(0); phase < 2; phase++ {
		var wg sync.WaitGroup
		wg.Add(3)
		for q := uint64(0); q < 3; q++ {
			go func(part product) {
				m.join(l, part)
				wg.Done()
			}(p.part(phase, q))
		}
		m.join(l, p.part(phase, 3))
		wg.Wait()
	}
}

func matmul(c *call) (*report, error) {
	n := c.param("n")
	if bits.OnesCount64(n) != 1 {
		return nil, bad("--param n=%d is not 32 times a power of two", n)
	}
	m := &matrices{n: n}
	for _, table := range []*[]uint32{&m.a, &m.b, &m.c} {
		words, err := hugeWords(n * n)
		if err != nil {
			return nil, err
		}
		*table = words
	}
	for i := uint64(0); i < n; i++ {
		for j := uint64(0); j < n; j++ {
			m.a[i*n+j], m.b[i*n+j] = uint32((i+2*j)%7), uint32((3*i+j)%5)
		}
	}
	expected := uint64(0)
	for k := uint64(0); k < n; k++ {
		ua, bv := uint64(0), uint64(0)
		for i := uint64(0); i < n; i++ {
			ua += mix(i) * uint64(m.a[i*n+k])
			bv += mix(n+i) * uint64(m.b[k*n+i])
		}
		expected += ua * bv
	}
	l, end := newLedger(c), newLedger(&call{})
	return blocks(c, 1, func(ops uint64) block {
		b := block{ops: ops}
		for i := uint64(0); i < ops; i++ {
			var begun int64 // the root clears C where it runs, and then its time begins (CLI.md)
			cpu := processCPUNs()
			end.open(1)
			go func() {
				for at := range m.c {
					m.c[at] = 0
				}
				begun = nowNs()
				m.join(l, product{0, 0, 0, n})
				end.complete(0)
			}()
			b.wallNs += <-end.end - begun
			b.cpuNs += processCPUNs() - cpu
			answer := uint64(0)
			for r := uint64(0); r < n; r++ {
				row := uint64(0)
				for j := uint64(0); j < n; j++ {
					row += mix(n+j) * uint64(m.c[r*n+j])
				}
				answer += mix(r) * row
			}
			b.sum += mark(i + answer - expected)
		}
		return b
	}), nil
}
