package picture

import "github.com/jobgraph/jobgraph/examples/internal/graph"

// Sizes of the drawing. Positions are counted in 1/scale of a pixel.
const (
	scale  = 64
	spring = 95 * scale // the length at which push and pull are equal
	reach  = 4 * spring // further away, entities do not push
	rounds = 400
	apart  = 200 // most rounds of moving labels apart
)

// point is a position or a displacement.
type point struct{ x, y int64 }

// box is half the width and half the height that an entity and its label need.
type box struct{ w, h int64 }

// arrange returns a place for each entity of g. Entities without a common relation end up far from each other.
func arrange(g graph.Graph, boxes []box) []point {
	at := map[string]int{}
	for i, e := range g.Entities {
		at[e.ID] = i
	}
	places := spiral(len(g.Entities))
	for round := range rounds {
		heat := int64(spring) * int64(rounds-round) / rounds
		move(places, forces(g, at, places), max(heat, scale))
	}
	for range apart {
		if !separate(places, boxes) {
			break
		}
	}
	return places
}

// spiral places n points like the seeds of a sunflower: each is a golden angle further than the previous one.
func spiral(n int) []point {
	const cos, sin = -48325, 44268 // of the golden angle, in 1/65536
	places := make([]point, n)
	way := point{1 << 16, 0}
	for i := range places {
		radius := root(int64(i+1) * spring * spring / 2)
		places[i] = point{way.x * radius >> 16, way.y * radius >> 16}
		way = point{(way.x*cos - way.y*sin) >> 16, (way.x*sin + way.y*cos) >> 16}
	}
	return places
}

// forces returns how each entity is pushed and pulled, with a light pull to the middle that keeps parts together. An entity with
// many relations is pulled less by each.
func forces(g graph.Graph, at map[string]int, places []point) []point {
	force, degree := make([]point, len(places)), make([]int64, len(places))
	for _, r := range g.Relations {
		degree[at[r.From]]++
		degree[at[r.To]]++
	}
	for i := range places {
		for j := range i {
			d := point{places[i].x - places[j].x, places[i].y - places[j].y}
			square := max(d.x*d.x+d.y*d.y, scale*scale)
			if square > reach*reach {
				continue
			}
			push := point{d.x * spring * spring / square, d.y * spring * spring / square}
			force[i] = point{force[i].x + push.x, force[i].y + push.y}
			force[j] = point{force[j].x - push.x, force[j].y - push.y}
		}
		force[i] = point{force[i].x - places[i].x/10, force[i].y - places[i].y/6}
	}
	for _, r := range g.Relations {
		i, j := at[r.From], at[r.To]
		d := point{places[i].x - places[j].x, places[i].y - places[j].y}
		length := root(d.x*d.x + d.y*d.y)
		pull := point{d.x * length / spring, d.y * length / spring}
		force[i] = point{force[i].x - pull.x/degree[i], force[i].y - pull.y/degree[i]}
		force[j] = point{force[j].x + pull.x/degree[j], force[j].y + pull.y/degree[j]}
	}
	return force
}

// move moves each entity along its force, no further than the heat allows.
func move(places, force []point, heat int64) {
	for i, f := range force {
		if length := root(f.x*f.x + f.y*f.y); length > heat {
			f = point{f.x * heat / length, f.y * heat / length}
		}
		places[i] = point{places[i].x + f.x, places[i].y + f.y}
	}
}

// separate moves overlapping boxes apart in the direction that needs less movement; it reports whether any overlapped.
func separate(places []point, boxes []box) bool {
	moved := false
	for i := range places {
		for j := range i {
			dx, dy := places[i].x-places[j].x, places[i].y-places[j].y
			overX := boxes[i].w + boxes[j].w - abs(dx)
			overY := boxes[i].h + boxes[j].h - abs(dy)
			if overX <= 0 || overY <= 0 {
				continue
			}
			moved = true
			if overX < overY {
				step := sign(dx) * (overX/2 + 1)
				places[i].x += step
				places[j].x -= step
				continue
			}
			step := sign(dy) * (overY/2 + 1)
			places[i].y += step
			places[j].y -= step
		}
	}
	return moved
}

func abs(v int64) int64 { return max(v, -v) }

func sign(v int64) int64 {
	if v < 0 {
		return -1
	}
	return 1
}

// root returns the largest integer whose square is at most v.
func root(v int64) int64 {
	if v <= 0 {
		return 0
	}
	r := int64(1) << 31
	for {
		next := (r + v/r) / 2
		if next >= r {
			return r
		}
		r = next
	}
}
