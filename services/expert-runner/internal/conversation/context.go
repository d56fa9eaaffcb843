package conversation

import "fmt"

// shortest is what remains of a compressed tool answer, in bytes.
const shortest = 400

// fit compresses the oldest tool answers until the conversation has at most this many tokens. Answers to the last calls stay whole
// as long as something else can be compressed.
func (m *Machine) fit(limit int) []Compression {
	total := 0
	last := 0
	for i := range m.history {
		total += m.history[i].weight()
		if m.history[i].Role == Assistant {
			last = i
		}
	}
	var made []Compression
	for i := range m.history {
		message := &m.history[i]
		if total <= limit {
			break
		}
		if message.Role != Tool || message.full > 0 || len(message.Text) <= shortest || limit == 0 && i > last {
			continue
		}
		before := message.weight()
		made = append(made, message.compress())
		total += message.weight() - before
	}
	return made
}

// compress keeps the beginning of an answer and notes its original length.
func (m *Message) compress() Compression {
	c := Compression{Call: m.CallID, From: len(m.Text)}
	end := shortest
	for end > 0 && m.Text[end]&0xC0 == 0x80 {
		end--
	}
	m.full = len(m.Text)
	m.Text = fmt.Sprintf("%s\n[compressed: the first %d of %d bytes]", m.Text[:end], end, m.full)
	c.To = len(m.Text)
	return c
}
