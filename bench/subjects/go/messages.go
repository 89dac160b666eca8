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
	n, messages := c.param("processes"), c.param("messages")
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
		for k := uint64(0); k < messages; k++ {
			for _, to := range children {
				to <- letter{0, k}
			}
		}
		o.end(0)
	}})
}

func chameneos(c *call) (*report, error) {
	const meet, change, end = 0, 1, 2
	n, meetings := c.param("processes"), c.param("meetings")
	return measureMessages(c, program{n + 1, 2 * meetings, 4 * meetings, "messages_per_op", func(o *operation) {
		mall := manyLetters()
		peers := make([]mailbox, n) // each has one letter on its way to it at most
		for i := range peers {
			peers[i] = oneLetter()
		}
		for i := range peers {
			go func(number, colour uint64) {
				mall <- letter{meet, number*3 + colour}
				for met := uint64(0); ; met++ {
					m := o.heard(<-peers[number])
					switch m.what {
					case end:
						o.end(met)
						return
					case meet:
						if other := m.number % 3; other != colour {
							colour = 3 - colour - other
						}
						peers[m.number/3] <- letter{change, colour}
					case change:
						colour = m.number
					}
					mall <- letter{meet, number*3 + colour}
				}
			}(uint64(i), uint64(i)%3)
		}
		first := n // nobody
		for met, told := uint64(0), uint64(0); told < n; {
			m := o.heard(<-mall)
			switch number := m.number / 3; {
			case met == meetings:
				peers[number] <- letter{end, 0}
				told++
			case first == n:
				first = number
			default:
				met++
				peers[first] <- m
				first = n
			}
		}
		o.end(0)
	}})
}

func big(c *call) (*report, error) {
	const begin, ask, answer, end = 0, 1, 2, 3
	n, pings := c.param("processes"), c.param("pings")
	expected := pings*(n*(n-1)/2) + n*(pings*(pings-1)/2)
	node := func(o *operation, peers []mailbox, done chan<- letter, number uint64) {
		type sent struct {
			to mailbox
			m  letter
		}
		var waiting []sent // to be sent, while others can send to this one
		mine, random, k, sum := peers[number], number+1, uint64(0), uint64(0)
		next := func() {
			random = random * 16807 % 2147483647
			waiting = append(waiting, sent{peers[random%n], letter{ask, number}})
		}
		for {
			var m letter
			if len(waiting) > 0 {
				select {
				case waiting[0].to <- waiting[0].m:
					waiting = waiting[:copy(waiting, waiting[1:])]
					continue
				case m = <-mine:
				}
			} else {
				m = <-mine
			}
			switch o.heard(m); m.what {
			case begin:
				next()
			case ask:
				sum += m.number
				waiting = append(waiting, sent{peers[m.number], letter{answer, m.number}})
			case answer:
				sum += k
				if k++; k < pings {
					next()
				} else {
					done <- letter{}
				}
			case end:
				o.end(sum)
				return
			}
		}
	}
	return measureMessages(c, program{n + 1, expected, 2 * n * pings, "messages_per_op", func(o *operation) {
		done, peers := manyLetters(), make([]mailbox, n)
		for i := range peers {
			peers[i] = make(mailbox, 8)
		}
		for i := range peers {
			go node(o, peers, done, uint64(i))
		}
		for _, to := range peers {
			to <- letter{begin, 0}
		}
		for i := uint64(0); i < n; i++ {
			o.heard(<-done)
		}
		for _, to := range peers {
			to <- letter{end, 0}
		}
		o.end(0)
	}})
}

func boundedBuffer(c *call) (*report, error) {
	const ask, item, free, end = 0, 1, 2, 3
	capacity, producers, consumers, items := c.param("capacity"), c.param("producers"), c.param("consumers"), c.param("items")
	all := producers * items
	return measureMessages(c, program{producers + consumers + 1, all * (all - 1) / 2, 4 * all, "messages_per_op", func(o *operation) {
		buffer := make(mailbox, producers+consumers) // one from each at most
		var making, taking []mailbox
		var held, willing, idle []uint64
		for p := uint64(0); p < producers; p++ {
			mine := oneLetter()
			making, willing = append(making, mine), append(willing, p)
			go func(next uint64) {
				for o.heard(<-mine).what != end {
					buffer <- letter{item, next}
					next++
				}
				o.end(0)
			}(p * items)
		}
		for q := uint64(0); q < consumers; q++ {
			mine := oneLetter()
			taking = append(taking, mine)
			go func(number uint64) {
				sum := uint64(0)
				for {
					buffer <- letter{free, number}
					m := o.heard(<-mine)
					if m.what == end {
						o.end(sum)
						return
					}
					sum += m.number
				}
			}(q)
		}
		asked := uint64(0)
		for left := all + consumers; left > 0; {
			for ; len(willing) > 0 && uint64(len(held))+asked < capacity; asked++ {
				making[willing[0]] <- letter{ask, 0}
				willing = willing[1:]
			}
			m := o.heard(<-buffer)
			if m.what == item {
				asked--
				held = append(held, m.number)
				if (m.number+1)%items != 0 {
					willing = append(willing, m.number/items)
				}
			} else {
				idle = append(idle, m.number)
				left--
			}
			if len(held) > 0 && len(idle) > 0 && left > 0 {
				taking[idle[0]] <- letter{item, held[0]}
				held, idle = held[1:], idle[1:]
			}
		}
		for _, to := range append(making, taking...) {
			to <- letter{end, 0}
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
