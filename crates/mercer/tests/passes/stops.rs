//! Fits that are cancelled, and fits that resume from a journal.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::{Spectral, blobs, kernel};
use mercer::exec::{Journal, PassResult, Progress};
use mercer::op::SymOp;
use mercer::{Block, Components, ErrorKind, Exec, KernelPca, KernelPcaModel, Points, Result};

/// Sets a flag at the progress report with this number, from 0; counts them.
fn stopper(at: usize) -> (Exec, Arc<AtomicUsize>) {
    let (flag, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (set, told) = (flag.clone(), count.clone());
    let tell = Arc::new(move |_: Progress| {
        if told.fetch_add(1, Ordering::SeqCst) == at {
            set.store(true, Ordering::SeqCst);
        }
    });
    (Exec::new().cancel(flag).progress(tell), count)
}

#[test]
fn a_flag_set_at_any_moment_cancels_and_does_nothing_else() -> Result<()> {
    for (text, n, components) in [
        ("gaussian", 700, Components::Count(3)),
        ("laplacian", 1600, Components::Count(3)),
        ("gaussian", 4200, Components::Count(3)),
        ("gaussian", 800, Components::Share(0.9)),
    ] {
        let x = blobs(n, 4, 5, 101);
        let pca = KernelPca::new(kernel(text)).components(components);
        let (exec, count) = stopper(usize::MAX);
        let whole = pca.fit_with(&x, &exec)?.to_parts()?;
        let all = count.load(Ordering::SeqCst);
        assert!(all > 10, "{text}: {all} reports");
        let moments = [0, 1, 2, 3, all / 4, all / 2, all - all / 4, all - 3, all - 2];
        for at in moments {
            let (exec, _) = stopper(at);
            match pca.fit_with(&x, &exec) {
                Err(e) => assert_eq!(*e.kind(), ErrorKind::Cancelled, "{text} of {n}, report {at} of {all}: {e}"),
                Ok(_) => panic!("{text} of {n} was not cancelled at report {at} of {all}"),
            }
        }
        // At the last report all passes are done. Then the fit may succeed, with the same result.
        let (exec, _) = stopper(all - 1);
        match pca.fit_with(&x, &exec) {
            Err(e) => assert_eq!(*e.kind(), ErrorKind::Cancelled, "{text} of {n}: {e}"),
            Ok(model) => assert!(model.to_parts()? == whole, "{text} of {n}"),
        }
    }
    Ok(())
}

#[test]
fn an_operator_that_is_cancelled_gives_no_model() {
    let op = Spectral::new(&(1..2100).map(|i| 1.0 / i as f64).collect::<Vec<_>>(), 1);
    for at in 0..3 {
        let (exec, _) = stopper(at);
        let error = KernelPca::custom().components(5).fit_op_with(&op, &exec).map(|m| m.components());
        assert_eq!(error.map_err(|e| e.kind().clone()), Err(ErrorKind::Cancelled), "report {at}");
    }
}

#[test]
fn a_cancelled_transform_stops() -> Result<()> {
    let x = blobs(700, 4, 5, 102);
    let model = KernelPca::new(kernel("gaussian")).components(3).fit(&x)?;
    let exec = Exec::new().cancel(Arc::new(AtomicBool::new(true)));
    assert_eq!(*model.transform_with(&x, &exec).expect_err("cancelled").kind(), ErrorKind::Cancelled);
    Ok(())
}

#[test]
fn progress_is_reported_in_order() -> Result<()> {
    for (n, components) in [(1600, Components::Count(3)), (4200, Components::Count(3)), (800, Components::Share(0.9))] {
        let log = Arc::new(Mutex::new(Vec::new()));
        let told = log.clone();
        let exec = Exec::new().progress(Arc::new(move |p| told.lock().expect("no panic").push(p)));
        KernelPca::new(kernel("gaussian")).components(components).fit_with(&blobs(n, 4, 5, 103), &exec)?;
        let log = log.lock().expect("no panic");
        let (mut pass, mut tiles, mut before_exact) = (0, 0, true);
        for p in log.iter() {
            match *p {
                Progress::Landmarks => assert_eq!(pass, 0, "landmarks first"),
                Progress::Pass { number, reached, wanted, in_f64: exact } => {
                    assert_eq!(number, pass + 1, "{components:?} of {n}: passes are numbered one after the other");
                    assert!(reached.is_some() == (number > 1) && wanted == 1e-6, "{p:?}");
                    assert!(before_exact || exact, "f32 after f64");
                    (pass, tiles, before_exact) = (number, 0, !exact);
                }
                Progress::Tiles { done, of } => {
                    assert_eq!(done, tiles + 1);
                    assert!(done <= of);
                    tiles = done;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// A fault of a journal.
type Fault = fn(PassResult) -> Result<Option<PassResult>>;

/// A journal in memory.
#[derive(Default)]
struct Book {
    passes: Mutex<BTreeMap<usize, (u64, PassResult)>>,
    recalled: AtomicUsize,
    recorded: AtomicUsize,
    /// The fault in passes that are read back, if any.
    fault: Option<Fault>,
    /// From this pass on nothing can be written.
    full_from: Option<usize>,
}

fn broken() -> mercer::Error {
    ErrorKind::Journal { what: "the journal is broken".into(), remedy: "mend it".into() }.into()
}

impl Journal for Book {
    fn recall(&self, pass: usize, key: u64) -> Result<Option<PassResult>> {
        let passes = self.passes.lock().expect("no panic");
        let Some((found, result)) = passes.get(&pass) else { return Ok(None) };
        if *found != key {
            return Err(broken());
        }
        self.recalled.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Some(fault) => fault(result.clone()),
            None => Ok(Some(result.clone())),
        }
    }

    fn record(&self, pass: usize, key: u64, result: &PassResult) -> Result<()> {
        if self.full_from.is_some_and(|from| pass >= from) {
            return Err(broken());
        }
        self.recorded.fetch_add(1, Ordering::SeqCst);
        let old = self.passes.lock().expect("no panic").insert(pass, (key, result.clone()));
        assert!(old.is_none(), "pass {pass} was recorded before");
        Ok(())
    }
}

impl Book {
    /// The first passes alone.
    fn torn(&self, passes: usize) -> Book {
        let kept = self.passes.lock().expect("no panic").iter().take(passes).map(|(n, p)| (*n, p.clone())).collect();
        Book { passes: Mutex::new(kept), ..Book::default() }
    }

    fn len(&self) -> usize {
        self.passes.lock().expect("no panic").len()
    }
}

fn fit(text: &str, components: Components, x: &Points, book: &Arc<Book>) -> Result<KernelPcaModel> {
    KernelPca::new(kernel(text)).components(components).fit_with(x, &Exec::new().journal(book.clone()))
}

#[test]
fn a_search_resumes_after_any_pass_with_the_same_bits() -> Result<()> {
    for (text, n, components) in [
        ("gaussian", 700, Components::Count(4)),
        ("laplacian", 1700, Components::Count(4)),
        ("gaussian", 4300, Components::Count(4)),
        ("gaussian", 900, Components::Share(0.85)),
    ] {
        let x = blobs(n, 5, 6, 104);
        let plain = KernelPca::new(kernel(text)).components(components).fit(&x)?.to_parts()?;
        let book = Arc::new(Book::default());
        let whole = fit(text, components, &x, &book)?;
        assert!(whole.to_parts()? == plain, "{text}: a journal changes nothing");
        let passes = book.len();
        assert!(passes >= 2 && (1..=passes).eq(book.passes.lock().expect("no panic").keys().copied()), "{text}");
        for kept in 0..=passes {
            let torn = Arc::new(book.torn(kept));
            let model = fit(text, components, &x, &torn)?;
            assert!(model.to_parts()? == plain, "{text} of {n} from pass {kept} of {passes} on");
            let (recalled, recorded) = (torn.recalled.load(Ordering::SeqCst), torn.recorded.load(Ordering::SeqCst));
            assert_eq!((recalled, recorded), (kept, passes - kept), "{text} of {n}");
        }
    }
    Ok(())
}

#[test]
fn a_search_resumes_with_other_threads_and_other_cached_tiles() -> Result<()> {
    let x = blobs(1700, 5, 6, 105);
    let book = Arc::new(Book::default());
    let plain = fit("gaussian", Components::Count(4), &x, &book)?.to_parts()?;
    let pca = KernelPca::new(kernel("gaussian")).components(4);
    let exec = Exec::new().threads(3).memory(20_000_000).journal(Arc::new(book.torn(1)));
    let model = pca.fit_with(&x, &exec)?;
    assert!(model.to_parts()? == plain);
    Ok(())
}

#[test]
fn a_journal_that_cannot_be_written_stops_the_work_with_its_own_error() {
    let x = blobs(1700, 5, 6, 106);
    for full_from in [1, 2] {
        let book = Arc::new(Book { full_from: Some(full_from), ..Book::default() });
        let error = fit("laplacian", Components::Count(4), &x, &book).expect_err("broken");
        assert_eq!(error, broken(), "from pass {full_from} on");
        assert_eq!(book.len(), full_from - 1);
    }
}

#[test]
fn a_journal_with_other_passes_than_were_made_is_refused() -> Result<()> {
    let x = blobs(1700, 5, 6, 107);
    let book = Arc::new(Book::default());
    let plain = fit("laplacian", Components::Count(4), &x, &book)?.to_parts()?;
    let faults: [(&str, Fault); 10] = [
        ("cannot be read", |_| Err(broken())),
        ("no columns", |p| Ok(Some(PassResult { images: Block::zeros(p.images.n(), 0), ..p }))),
        ("nothing", |p| Ok(Some(PassResult { images: Block::zeros(0, 0), ..p }))),
        ("a row less", |p| Ok(Some(PassResult { images: Block::zeros(p.images.n() - 1, p.images.b()), ..p }))),
        ("a column less", |p| {
            let b = p.images.b() - 1;
            Ok(Some(PassResult { images: p.images.first(b), ..p }))
        }),
        ("a column more", |p| Ok(Some(PassResult { images: Block::zeros(p.images.n(), p.images.b() + 1), ..p }))),
        ("turned", |p| Ok(Some(PassResult { images: p.images.transposed(), ..p }))),
        ("not a number", |mut p| {
            *p.images.at_mut(3, 0) = f64::NAN;
            Ok(Some(p))
        }),
        ("infinite", |mut p| {
            *p.images.at_mut(3, 1) = f64::INFINITY;
            Ok(Some(p))
        }),
        ("a norm that is not a number", |p| Ok(Some(PassResult { norm: Some(f64::NAN), ..p }))),
    ];
    let mut wrong = Vec::new();
    for (what, fault) in faults {
        for kept in [1, 2] {
            let torn = Arc::new(Book { fault: Some(fault), ..book.torn(kept) });
            match fit("laplacian", Components::Count(4), &x, &torn) {
                Err(e) => {
                    let said = matches!(
                        e.kind(),
                        ErrorKind::Journal { .. } | ErrorKind::Shape { .. } | ErrorKind::NotFinite { .. }
                    );
                    if !said || (matches!(e.kind(), ErrorKind::Shape { .. }) && e.to_string().contains("operator")) {
                        wrong.push(format!("{what}, {kept}: {e}"));
                    }
                }
                // The sum of squares is taken in one pass only.
                Ok(model) if what.starts_with("a norm") && model.to_parts()? == plain => {}
                Ok(model) => wrong.push(format!("{what}, {kept}: {}", model.certificate())),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// The key of a pass is a fingerprint of its input. A random start is the same for all data of one size, so the key must
/// also depend on the data: a journal of other data must not be used.
#[test]
fn a_pass_of_other_data_has_another_key() -> Result<()> {
    struct Keys(Mutex<Vec<u64>>);
    impl Journal for Keys {
        fn recall(&self, _: usize, key: u64) -> Result<Option<PassResult>> {
            self.0.lock().expect("no panic").push(key);
            Ok(None)
        }
        fn record(&self, _: usize, _: u64, _: &PassResult) -> Result<()> {
            Ok(())
        }
    }
    let mut same = Vec::new();
    for (text, n) in [("gaussian", 700), ("gaussian", 1700), ("laplacian", 650)] {
        let first = |seed, text: &str| {
            let keys = Arc::new(Keys(Mutex::default()));
            let exec = Exec::new().journal(keys.clone());
            KernelPca::new(kernel(text)).components(2).fit_with(&blobs(n, 5, 6, seed), &exec)?;
            let keys = keys.0.lock().expect("no panic");
            Ok::<u64, mercer::Error>(keys[0])
        };
        if first(108, text)? == first(109, text)? {
            same.push(format!("{text} of {n} points"));
        }
        // A factor that is a power of two leaves the vectors of a pass as they are.
        if first(108, text)? == first(108, &format!("4*{text}"))? {
            same.push(format!("{text} of {n} points and four times as much"));
        }
    }
    assert!(same.is_empty(), "the first pass of other data has the same key: {same:?}");
    Ok(())
}

#[test]
fn a_cancelled_fit_has_written_complete_passes_only() -> Result<()> {
    let x = blobs(1700, 5, 6, 110);
    let book = Arc::new(Book::default());
    let plain = fit("laplacian", Components::Count(4), &x, &book)?.to_parts()?;
    for at in [2, 30, 45, 70] {
        let (exec, _) = stopper(at);
        let torn = Arc::new(Book::default());
        let error = KernelPca::new(kernel("laplacian")).components(4).fit_with(&x, &exec.journal(torn.clone()));
        let Err(error) = error else { continue };
        assert_eq!(*error.kind(), ErrorKind::Cancelled);
        let passes = book.passes.lock().expect("no panic");
        for (number, pass) in torn.passes.lock().expect("no panic").iter() {
            assert!(passes[number] == *pass, "pass {number} of a fit that was cancelled at report {at}");
        }
        drop(passes);
        assert!(fit("laplacian", Components::Count(4), &x, &Arc::new(torn.torn(99)))?.to_parts()? == plain);
    }
    Ok(())
}

#[test]
fn a_fit_of_an_operator_resumes_from_a_journal() -> Result<()> {
    struct Counted(Spectral, AtomicUsize);
    impl SymOp for Counted {
        fn n(&self) -> usize {
            self.0.n()
        }
        fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()> {
            self.1.fetch_add(1, Ordering::SeqCst);
            self.0.apply(x, y, exec)
        }
        fn diagonal(&self, exec: &Exec) -> Result<Option<Vec<f64>>> {
            self.0.diagonal(exec)
        }
    }
    let op = Counted(Spectral::new(&(1..2100).map(|i| 1.0 / i as f64).collect::<Vec<_>>(), 1), AtomicUsize::new(0));
    let book = Arc::new(Book::default());
    let run = |book: &Arc<Book>| {
        op.1.store(0, Ordering::SeqCst);
        let parts =
            KernelPca::custom().components(5).fit_op_with(&op, &Exec::new().journal(book.clone()))?.to_parts()?;
        Ok::<_, mercer::Error>((parts, op.1.load(Ordering::SeqCst)))
    };
    let (plain, calls) = run(&book)?;
    for kept in 0..=calls {
        let (parts, again) = run(&Arc::new(book.torn(kept)))?;
        assert!(parts == plain && again == calls - kept, "{kept} of {calls}: {again}");
    }
    Ok(())
}
