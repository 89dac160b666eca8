//! The graphs of the scenario `graph`: which tasks there are, and which producers each has.
use crate::ledger::mix;

/// The words of its parameter.
pub const PATTERNS: &[&str] =
    &["stencil_1d", "nearest", "spread", "fft", "tree", "random_nearest", "chain", "wavefront", "layered", "cholesky"];

/// Tasks in ascending order of their ids, each with its producers, ascending and without doubles.
pub struct Tasks {
    /// Where each task's producers begin, and where the last one's end.
    first: Vec<u64>,
    all: Vec<u64>,
}

/// How many there would be, without making them.
pub fn tasks_of(pattern: &str, width: u64, steps: u64) -> u64 {
    match pattern {
        "cholesky" => width * (width + 1) * (width + 2) / 6,
        "tree" => (0..steps).map(|step| points("tree", width, step)).sum(),
        _ => width * steps,
    }
}

fn points(pattern: &str, width: u64, step: u64) -> u64 {
    match pattern {
        "tree" if step < 32 => width.min(1 << step),
        _ => width,
    }
}

impl Tasks {
    /// The tasks of a pattern.
    pub fn new(pattern: &str, width: u64, steps: u64) -> Self {
        let mut tasks = Tasks { first: vec![0], all: vec![] };
        match pattern {
            "cholesky" => tasks.factorise(width),
            _ => tasks.lay_out(pattern, width, steps),
        }
        tasks
    }

    /// How many tasks.
    pub fn tasks(&self) -> u64 {
        self.first.len() as u64 - 1
    }

    /// How many edges.
    pub fn edges(&self) -> u64 {
        self.all.len() as u64
    }

    /// What a task waits for.
    pub fn producers(&self, id: u64) -> &[u64] {
        &self.all[self.first[id as usize] as usize..self.first[id as usize + 1] as usize]
    }

    fn add(&mut self, mut producers: Vec<u64>) {
        producers.sort_unstable();
        producers.dedup();
        self.all.append(&mut producers);
        self.first.push(self.all.len() as u64);
    }

    fn lay_out(&mut self, pattern: &str, width: u64, steps: u64) {
        let levels = u64::from(u64::BITS - (width - 1).leading_zeros()).max(1);
        let (mut before, mut here) = (0, 0);
        for s in 0..steps {
            let there = if s == 0 { 0 } else { points(pattern, width, s - 1) };
            let around = |i: u64, far: u64| (0..=2 * far).map(move |k| i.wrapping_add(k).wrapping_sub(far));
            for i in 0..points(pattern, width, s) {
                let id = here + i;
                let found: Vec<u64> = match pattern {
                    "stencil_1d" => around(i, 1).collect(),
                    "nearest" => around(i, 2).collect(),
                    "spread" => {
                        std::iter::once(i).chain((1..5).map(|k| (i + k * width / 5 + s % width) % width)).collect()
                    }
                    "fft" => {
                        let far = 1 << ((s + levels - 1) % levels);
                        vec![i.wrapping_sub(far), i, i + far]
                    }
                    "tree" => vec![i / 2],
                    "random_nearest" => {
                        let chosen = around(i, 2).enumerate().filter(|(k, _)| mix(id * 8 + *k as u64) % 2 == 1);
                        std::iter::once(i).chain(chosen.map(|(_, p)| p)).collect()
                    }
                    "chain" | "wavefront" => vec![i],
                    "layered" => (0..3).map(|k| mix(id * 8 + k) % width).collect(),
                    other => panic!("the list of patterns has no `{other}`"),
                };
                // An index below 0 has wrapped.
                let mut producers = Vec::from_iter(found.into_iter().filter(|p| *p < there).map(|p| before + p));
                if pattern == "wavefront" && i > 0 {
                    producers.push(id - 1);
                }
                self.add(producers);
            }
            (before, here) = (here, here + points(pattern, width, s));
        }
    }

    fn factorise(&mut self, tiles: u64) {
        let mut last = vec![None; (tiles * tiles) as usize]; // which task wrote a tile last
        let mut writes = |i: u64, j: u64, reads: &[(u64, u64)]| {
            let tile = |(i, j): (u64, u64)| (i * tiles + j) as usize;
            let read = reads.iter().chain([&(i, j)]).filter_map(|&at| last[tile(at)]).collect();
            last[tile((i, j))] = Some(self.tasks());
            self.add(read);
        };
        for k in 0..tiles {
            writes(k, k, &[]);
            for i in k + 1..tiles {
                writes(i, k, &[(k, k)]);
            }
            for i in k + 1..tiles {
                for j in k + 1..i {
                    writes(i, j, &[(i, k), (j, k)]);
                }
                writes(i, i, &[(i, k)]);
            }
        }
    }
}
