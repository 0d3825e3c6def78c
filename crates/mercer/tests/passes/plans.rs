//! Plans: fits stay within them, and impossible ones are refused with a message before anything is computed.

use std::process::Command;

use crate::kernel;
use mercer::testing::matrices::normal;
use mercer::{Components, ErrorKind, Exec, KernelPca, Plan, Points, Result};

fn plan(text: &str, components: impl Into<Components>, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
    KernelPca::new(kernel(text)).components(components).plan(n, d, exec)
}

#[test]
fn all_components_of_many_points_are_refused_with_a_message() {
    let error = plan("gaussian", Components::All, 200_000, 10, &Exec::new()).expect_err("1.9 TB");
    assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
    let help = error.help().expect("help");
    assert!(error.to_string().contains("200000 points") && help.contains("number of components"), "{error} {help}");
}

#[test]
fn a_tiny_budget_is_refused_before_anything_is_done() {
    let x = normal(5000, 4, 91);
    let told = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let tell = told.clone();
    let exec = Exec::new()
        .memory(100_000)
        .progress(std::sync::Arc::new(move |_| tell.store(true, std::sync::atomic::Ordering::Relaxed)));
    let error = KernelPca::new(kernel("gaussian")).components(5).fit_with(&x, &exec).expect_err("100 kB");
    assert!(matches!(error.kind(), ErrorKind::Memory { .. }) && error.help().is_some(), "{error}");
    assert!(!told.load(std::sync::atomic::Ordering::Relaxed), "something was begun");
}

#[test]
fn the_plan_fits_the_budget_whatever_it_is() {
    let mut wrong = Vec::new();
    for n in [601, 1500, 4096, 50_000, 1_000_000, 1 << 30] {
        for budget in (10..45).map(|p| 1u64 << p) {
            for k in [1, 10, 100] {
                let exec = Exec::new().memory(budget);
                match plan("gaussian", k, n, 20, &exec) {
                    Ok(plan) if plan.bytes > u128::from(budget) => {
                        wrong.push(format!("{n} points, {k}, {budget}: {} bytes", plan.bytes));
                    }
                    Ok(plan) => {
                        let Some(p) = plan.passes() else { continue };
                        if p.basis < p.columns || p.cached > p.tiles || p.k != k || !plan.flops.is_finite() {
                            wrong.push(format!("{n} points, {k}, {budget}: {p:?}"));
                        }
                    }
                    Err(e) if matches!(e.kind(), ErrorKind::Memory { .. }) => {}
                    Err(e) => wrong.push(format!("{n} points, {k}, {budget}: {e}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn sizes_that_overflow_are_refused_without_a_panic() {
    let mut wrong = Vec::new();
    for (n, d, k) in [
        (usize::MAX, 3, 5),
        (1 << 62, 3, 5),
        (1 << 40, 3, 5),
        (1000, usize::MAX, 5),
        (1_000_000, 1 << 50, 5),
        (200_000, 10, usize::MAX),
        (200_000, 10, 199_999),
        (700, 3, usize::MAX),
        (usize::MAX, usize::MAX, usize::MAX),
    ] {
        let found = std::panic::catch_unwind(|| plan("gaussian", k, n, d, &Exec::new()));
        match found {
            Err(_) => wrong.push(format!("{n} points of {d} dimensions, {k} components: a panic")),
            Ok(Ok(plan)) if plan.bytes <= 8_000_000_000 => {}
            Ok(Ok(plan)) => wrong.push(format!("{n} {d} {k}: {} bytes", plan.bytes)),
            Ok(Err(e)) if matches!(e.kind(), ErrorKind::Memory { .. }) => {}
            Ok(Err(e)) => wrong.push(format!("{n} {d} {k}: {e}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_plan_is_printed_with_its_parts() -> Result<()> {
    let text = plan("gaussian", 10, 100_000, 500, &Exec::new())?.to_string();
    for part in ["passes", "pivots", "f32", "f64", "tiles", "memory", "GB", "100000 points"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    // Kernel PCA decomposes a matrix of points, not of features.
    assert!(!text.contains("100000 features"), "{text}");
    let text = plan("gaussian", Components::All, 1000, 5, &Exec::new())?.to_string();
    assert!(text.contains("dense") && !text.contains("passes "), "{text}");
    Ok(())
}

#[test]
fn the_fit_follows_the_plan() -> Result<()> {
    for (n, k) in [(601, 5), (1500, 5), (4200, 5), (700, 70), (700, 71)] {
        let plan = plan("gaussian", k, n, 3, &Exec::new())?;
        let model = KernelPca::new(kernel("gaussian")).components(k).fit(&normal(n, 3, 92))?;
        let passes = model.certificate().passes();
        assert_eq!(plan.passes().is_some(), !model.spectrum().is_complete(), "{n} {k}");
        assert_eq!(plan.passes().is_some_and(|p| p.f32), passes.f32 > 0, "{n} {k}");
    }
    Ok(())
}

#[test]
fn tolerances_that_mean_nothing_are_refused() {
    let x = normal(650, 3, 93);
    for tolerance in [0.0, -1.0, 1.0, 2.0, f64::NAN, f64::INFINITY] {
        let error =
            KernelPca::new(kernel("gaussian")).components(3).tolerance(tolerance).fit(&x).expect_err("senseless");
        assert!(matches!(error.kind(), ErrorKind::Parameter { .. }), "{tolerance}: {error}");
    }
}

/// Run in its own process, so that the memory measured is that of the fit.
#[test]
#[ignore = "called by the test below"]
fn a_fit_that_prints_its_memory() {
    let size = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<usize>().ok());
    let (Some(n), Some(d), Some(k)) = (size("MERCER_N"), size("MERCER_D"), size("MERCER_K")) else { return };
    let high = || -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:").map(str::to_string)).unwrap_or_default();
        line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap_or(0) * 1024
    };
    let x = normal(n, d, 94);
    let exec = Exec::new().memory(size("MERCER_MEMORY").expect("a budget") as u64).threads(2);
    let text = std::env::var("MERCER_KERNEL").expect("a kernel");
    let pca = KernelPca::new(kernel(&text)).components(k);
    let planned = pca.plan(n, d, &exec).expect("fits").bytes;
    let before = high();
    pca.fit_with(&x, &exec).expect("fits");
    let used = high() - before;
    std::fs::write(std::env::var("MERCER_OUT").expect("a file"), format!("{planned} {used}")).expect("writes");
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_that_is_used_is_about_what_the_plan_says() {
    let mut wrong = Vec::new();
    for (text, n, d, k, memory) in [
        ("gaussian", 4200, 20, 10, 8_000_000_000u64),
        ("gaussian", 8000, 20, 10, 60_000_000),
        ("gaussian", 4200, 800, 10, 8_000_000_000),
        ("gaussian", 6000, 600, 5, 200_000_000),
        ("polynomial(degree=2, coef0=1) + gaussian", 5000, 500, 5, 150_000_000),
        ("linear", 2000, 10, 150, 8_000_000_000),
    ] {
        let out = std::env::temp_dir().join(format!("mercer-plan-{}-{n}-{d}-{k}", std::process::id()));
        let status = Command::new(std::env::current_exe().expect("this test"))
            .args(["--ignored", "--exact", "plans::a_fit_that_prints_its_memory", "-q"])
            .env("MERCER_N", n.to_string())
            .env("MERCER_D", d.to_string())
            .env("MERCER_K", k.to_string())
            .env("MERCER_MEMORY", memory.to_string())
            .env("MERCER_KERNEL", text)
            .env("MERCER_OUT", &out)
            .output()
            .expect("runs");
        let figures = std::fs::read_to_string(&out).unwrap_or_default();
        let _ = std::fs::remove_file(&out);
        let mut figures = figures.split(' ').filter_map(|v| v.parse::<f64>().ok());
        let (Some(planned), Some(used)) = (figures.next(), figures.next()) else {
            wrong.push(format!("{text} of {n} x {d}: {}", String::from_utf8_lossy(&status.stdout)));
            continue;
        };
        // Threads and allocators need some memory too; twenty megabytes are ignored.
        if used > 1.25 * planned + 2e7 {
            wrong.push(format!("{text} of {n} x {d}, {k}: {:.0} MB used, {:.0} MB planned", used / 1e6, planned / 1e6));
        }
        if used > memory as f64 * 1.25 + 2e7 {
            wrong.push(format!(
                "{text} of {n} x {d}, {k}: {:.0} MB used, {:.0} MB allowed",
                used / 1e6,
                memory as f64 / 1e6
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_budget_that_leaves_no_room_for_landmarks_or_tiles_still_gives_the_components() -> Result<()> {
    let x: Points = normal(2000, 3, 95);
    let pca = KernelPca::new(kernel("gaussian")).components(3);
    let whole = pca.fit(&x)?;
    let mut seen = Vec::new();
    for memory in (4..120).map(|i| 250_000 * i) {
        let exec = Exec::new().memory(memory);
        let Ok(plan) = pca.plan(2000, 3, &exec) else { continue };
        let p = plan.passes().expect("passes").clone();
        if seen.contains(&(p.pivots, p.basis)) || seen.len() > 6 {
            continue;
        }
        seen.push((p.pivots, p.basis));
        let model = pca.fit_with(&x, &exec)?;
        for (j, (a, b)) in model.spectrum().eigenvalues().iter().zip(whole.spectrum().eigenvalues()).enumerate() {
            let allowed = model.certificate().radius(j) + whole.certificate().radius(j);
            assert!((a - b).abs() <= allowed, "{memory}: {j}: {a} {b}");
        }
    }
    assert!(!seen.is_empty());
    Ok(())
}
