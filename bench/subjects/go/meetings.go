// Processes that meet at one, or at each other: messages.go has the frame.
package main

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
