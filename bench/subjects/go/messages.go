// Programs of processes, after Savina: a process is a goroutine, its mailbox a channel.
//
// Channels are bounded: a sender waits where one is full. No program waits in a circle by that but big, whose processes go on
// receiving while they wait to send, by select.
package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
)

type letter struct{ what, number uint64 }

type mailbox chan letter

// For a process that is sent many; one is enough where each letter is answered.
func manyLetters() mailbox { return make(mailbox, 128) }
func oneLetter() mailbox   { return make(mailbox, 1) }

// One program, complete: its processes add their values, and the last one that ends completes the account.
type operation struct {
	l         *ledger
	mark      uint64
	sum, left uint64 // by processes, atomically
	waiting   uint64 // the same
	peak      uint64 // resident bytes with all of them waiting, in the first operation
}

func (o *operation) end(value uint64) {
	atomic.AddUint64(&o.sum, value)
	if atomic.AddUint64(&o.left, ^uint64(0)) == 0 {
		o.l.complete(o.mark + atomic.LoadUint64(&o.sum))
	}
}

// What every process does for a letter besides.
func (o *operation) heard(m letter) letter {
	o.l.slowDown()
	return m
}

type program struct {
	ends, answer, units uint64
	unit                string
	root                func(o *operation)
}

func peakResidentBytes() uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	fields := strings.Fields(string(text))
	for i, word := range fields {
		if word == "VmHWM:" {
			kib, _ := strconv.ParseUint(fields[i+1], 10, 64)
			return kib * 1024
		}
	}
	panic("/proc/self/status does not tell VmHWM")
}

func measureMessages(c *call, p program) (*report, error) {
	l := newLedger(c)
	o := &operation{l: l}
	before := peakResidentBytes()
	r := blocks(c, 1, func(ops uint64) block {
		return iterations(l, ops, 1, func(i uint64) {
			o.mark, o.sum, o.left, o.waiting = i-p.answer, 0, p.ends, 0
			go p.root(o)
		})
	})
	flags := sprintFlag(p.unit, p.units)
	if o.peak > 0 {
		flags += ";" + sprintFlag("bytes_each", (o.peak-before)/p.units)
	}
	r.put("flags", flags)
	return r, nil
}

func msgPingPong(c *call) (*report, error) {
	const ball, end = 0, 1
	pings := c.param("pings")
	return measureMessages(c, program{2, pings * (2*pings - 1), 2 * pings, "messages_per_op", func(o *operation) {
		mine, partner := oneLetter(), oneLetter()
		go func() {
			sum := uint64(0)
			for {
				m := o.heard(<-partner)
				if m.what == end {
					o.end(sum)
					return
				}
				sum += m.number
				mine <- letter{ball, m.number + 1}
			}
		}()
		partner <- letter{ball, 0}
		for sum := uint64(0); ; {
			m := o.heard(<-mine)
			sum += m.number
			if m.number+1 == 2*pings {
				partner <- letter{end, 0}
				o.end(sum)
				return
			}
			partner <- letter{ball, m.number + 1}
		}
	}})
}

func msgCount(c *call) (*report, error) {
	const add, tell = 0, 1
	messages := c.param("messages")
	return measureMessages(c, program{2, messages * (messages - 1) / 2, messages, "messages_per_op", func(o *operation) {
		mine, counter := oneLetter(), manyLetters()
		go func() {
			for sum := uint64(0); ; {
				m := o.heard(<-counter)
				if m.what == tell {
					mine <- letter{tell, sum}
					o.end(0)
					return
				}
				sum += m.number
			}
		}()
		for k := uint64(0); k < messages; k++ {
			counter <- letter{add, k}
		}
		counter <- letter{tell, 0}
		o.end(o.heard(<-mine).number)
	}})
}

func msgRing(c *call) (*report, error) {
	const token, end = 0, 1
	processes, hops := c.param("processes"), c.param("hops")
	node := func(o *operation, mine, next mailbox) {
		for sum := uint64(0); ; {
			m := o.heard(<-mine)
			switch {
			case m.what == end:
				if m.number > 1 {
					next <- letter{end, m.number - 1}
				}
				o.end(sum)
				return
			case m.number == 0:
				next <- letter{end, processes - 1}
				o.end(sum)
				return
			}
			sum += m.number
			next <- letter{token, m.number - 1}
		}
	}
	return measureMessages(c, program{processes, hops * (hops + 1) / 2, hops, "messages_per_op", func(o *operation) {
		mine := oneLetter()
		to := mine
		for i := processes; i > 1; i-- {
			another := oneLetter()
			go node(o, another, to)
			to = another
		}
		to <- letter{token, hops}
		node(o, mine, to)
	}})
}

func msgCreate(c *call) (*report, error) {
	n := c.param("processes")
	return measureMessages(c, program{n + 1, n * (n - 1), n, "spawns_per_op", func(o *operation) {
		for i := uint64(0); i < n; i++ {
			mine := oneLetter()
			go func(number uint64) { o.end(number + o.heard(<-mine).number) }(i)
			mine <- letter{0, i}
		}
		o.end(0)
	}})
}

func msgThroughput(c *call) (*report, error) {
	n, messages, rounds := c.param("processes"), c.param("messages"), c.param("rounds")
	return measureMessages(c, program{n + 1, n * (messages * (messages - 1) / 2), n * messages, "messages_per_op", func(o *operation) {
		var children []mailbox
		for i := uint64(0); i < n; i++ {
			mine := manyLetters()
			children = append(children, mine)
			go func() {
				sum := uint64(0)
				for left := messages; left > 0; left-- {
					sum += o.heard(<-mine).number
				}
				o.end(sum)
			}()
		}
		myself := oneLetter()
		for k := uint64(0); k < messages; k++ {
			if rounds > 0 && k > 0 && k%rounds == 0 {
				myself <- letter{}
				o.heard(<-myself)
			}
			for _, to := range children {
				to <- letter{0, k}
			}
		}
		o.end(0)
	}})
}

func idleProcesses(c *call) (*report, error) {
	n := c.param("processes")
	return measureMessages(c, program{n + 1, n * (n - 1), n, "spawns_per_op", func(o *operation) {
		mine := oneLetter()
		children := make([]mailbox, n)
		for i := range children {
			children[i] = oneLetter()
			go func(number uint64) {
				if atomic.AddUint64(&o.waiting, 1) == n {
					mine <- letter{}
				}
				o.end(number + o.heard(<-children[number]).number)
			}(uint64(i))
		}
		o.heard(<-mine)
		runtime.Gosched()
		if o.peak == 0 {
			o.peak = peakResidentBytes()
		}
		for i, to := range children {
			to <- letter{0, uint64(i)}
		}
		o.end(0)
	}})
}
