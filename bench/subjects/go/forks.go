// fib and tree_sum: a goroutine for one of two branches, a WaitGroup per fork. Written out twice: of a generic function Go makes
// one body with a table of methods, which would be measured, too. No node looks for a slow-down: it stands behind a computation.
package main

import (
	"math/bits"
	"sync"
)

func joinFib(n uint64) uint64 {
	if n < 2 {
		return n
	}
	var left uint64
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		left = joinFib(n - 1)
		wg.Done()
	}()
	right := joinFib(n - 2)
	wg.Wait()
	return left + right
}

func serialFib(n uint64) uint64 {
	if n < 2 {
		return n
	}
	return serialFib(n-1) + serialFib(n-2)
}

func fibForks(n uint64) uint64 {
	if n < 2 {
		return 0
	}
	return 1 + fibForks(n-1) + fibForks(n-2)
}

type treeNode struct {
	value       uint64
	left, right *treeNode // both or none
}

// The root of a balanced tree in this array: a node, its left subtree, its right one. A node is worth its number.
func linked(nodes []treeNode, first uint64) *treeNode {
	below := len(nodes) / 2
	own := &nodes[0]
	own.value = first
	if below > 0 {
		own.left = linked(nodes[1:below+1], first+1)
		own.right = linked(nodes[below+1:], first+1+uint64(below))
	}
	return own
}

func joinTree(node *treeNode) uint64 {
	if node.left == nil {
		return node.value
	}
	var right uint64
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		right = joinTree(node.right)
		wg.Done()
	}()
	left := joinTree(node.left)
	wg.Wait()
	return node.value + left + right
}

func serialTree(node *treeNode) uint64 {
	if node.left == nil {
		return node.value
	}
	return node.value + serialTree(node.left) + serialTree(node.right)
}

// A block is one goroutine, which does all its computations one after the other.
func measureForks(c *call, unit string, units, expected uint64, sum func() uint64) (*report, error) {
	account := newLedger(&call{})
	r := blocks(c, 1, func(ops uint64) block {
		return iterations(account, ops, ops, func(uint64) {
			go func() {
				for i := uint64(0); i < ops; i++ {
					answer := sum()
					if c.slowdownNs != 0 {
						busyWaitNs(c.slowdownNs)
					}
					account.complete(i + answer - expected)
				}
			}()
		})
	})
	r.put("flags", sprintFlag(unit, units))
	return r, nil
}

func fib(c *call) (*report, error) {
	n := c.param("n")
	return measureForks(c, "forks_per_op", fibForks(n), serialFib(n), func() uint64 { return joinFib(n) })
}

func treeSum(c *call) (*report, error) {
	nodes := c.param("nodes")
	if bits.OnesCount64(nodes+1) != 1 {
		return nil, bad("--param nodes=%d is not one less than a power of two", nodes)
	}
	root := linked(make([]treeNode, nodes), 0)
	return measureForks(c, "nodes_per_op", nodes, serialTree(root), func() uint64 { return joinTree(root) })
}
