//! The smallest problem that still shows a violation: fewer rows, fewer columns, rounder numbers.

use std::time::{Duration, Instant};

use mercer::Points;

use crate::problem::{Problem, Task};

/// Tries to make a problem smaller as long as `still` holds of it, for so long.
pub fn smaller(mut problem: Problem, time: Duration, still: impl Fn(&Problem) -> bool) -> Problem {
    let start = Instant::now();
    let go = |candidate: Problem, problem: &mut Problem| {
        if start.elapsed() > time {
            return false;
        }
        let holds = still(&candidate);
        if holds {
            *problem = candidate;
        }
        holds
    };
    let square = matches!(problem.task, Task::Gram { .. } | Task::Operator { .. } | Task::Scatter { .. });
    loop {
        let before = (problem.points.n(), problem.points.d());
        let mut part = problem.points.n() / 2;
        while part > 0 {
            let mut start = 0;
            while start < problem.points.n() && problem.points.n() > 1 {
                let end = (start + part).min(problem.points.n());
                let kept = |i: &usize| *i < start || *i >= end;
                let rows: Vec<usize> = (0..problem.points.n()).filter(kept).collect();
                let columns = if square { rows.clone() } else { (0..problem.points.d()).collect() };
                if rows.is_empty() || !go(part_of(&problem, &rows, &columns), &mut problem) {
                    start += part;
                }
            }
            part /= 2;
        }
        for j in (0..problem.points.d()).rev() {
            if square || problem.points.d() == 1 {
                break;
            }
            let rows: Vec<usize> = (0..problem.points.n()).collect();
            let columns: Vec<usize> = (0..problem.points.d()).filter(|c| *c != j).collect();
            go(part_of(&problem, &rows, &columns), &mut problem);
        }
        if before == (problem.points.n(), problem.points.d()) {
            break;
        }
    }
    for digits in [0, 1, 2, 3] {
        let mut round = problem.clone();
        round.points.as_mut_slice().iter_mut().for_each(|v| *v = format!("{v:.digits$e}").parse().expect("a number"));
        if go(round, &mut problem) {
            break;
        }
    }
    problem
}

fn part_of(problem: &Problem, rows: &[usize], columns: &[usize]) -> Problem {
    let x = &problem.points;
    let points = Points::from_fn(rows.len(), columns.len(), |i, j| x.row(rows[i])[columns[j]]);
    Problem { points, ..problem.clone() }
}
