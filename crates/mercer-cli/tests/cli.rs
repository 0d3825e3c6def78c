//! The command from outside: its output, its files and its errors.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use common::Run;

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[test]
fn fit_writes_scores_eigenvalues_loadings_and_model() {
    let run = Run::new();
    has(&run.ok(&["fit", "iris", "-o", "out"]), &["PC4", "accuracy", "wrote", "out.scores.csv"]);
    assert_eq!(run.files(), ["out.eigenvalues.csv", "out.loadings.csv", "out.mercer.safetensors", "out.scores.csv"]);
    let scores = run.text("out.scores.csv");
    assert!(scores.starts_with("class,PC1,PC2,PC3,PC4\nsetosa,-2.68412562596"));
    assert_eq!(scores.lines().count(), 151);
    assert!(
        run.text("out.eigenvalues.csv")
            .starts_with("component,eigenvalue,explained_variance_ratio,cumulative\nPC1,4.228241706034")
    );
    assert!(run.text("out.loadings.csv").starts_with("feature,PC1,PC2,PC3,PC4\nsepal_length,0.36138659178"));
    has(&run.ok(&["info", "out.mercer.safetensors"]), &["divisor n - 1", "4.22824", "sepal_width", "rank 4"]);

    run.ok(&["fit", "iris", "--kernel", "gaussian(over_sigma2=150)", "-k", "2", "-o", "k"]);
    assert!(!run.files().contains(&"k.loadings.csv".to_string()), "kernel models have no loadings");
    assert!(run.text("k.eigenvalues.csv").contains("PC1,7.66778276618"));
    has(&run.ok(&["info", "k.mercer.safetensors"]), &["gaussian(over_sigma2=150)", "HKH", "positive semi-definite"]);

    for (format, end) in [("tsv", "tsv"), ("npy", "npy"), ("parquet", "parquet")] {
        run.ok(&["fit", "iris", "-k", "2", "-o", "f", "--format", format, "-q"]);
        assert!(run.path().join(format!("f.scores.{end}")).exists());
    }
    let from_parquet = run.ok(&["fit", "f.scores.parquet", "-k", "1", "-o", "-", "-q"]);
    assert!(from_parquet.starts_with("class,PC1\nsetosa,"));
}

#[test]
fn transform_of_the_fitted_data_is_the_scores() {
    let run = Run::new();
    let values = |text: &str| -> Vec<f64> {
        text.lines()
            .skip(1)
            .flat_map(|l| l.split(',').skip(1).map(|v| v.parse::<f64>().expect(v)).collect::<Vec<_>>())
            .collect()
    };
    for model in [
        vec![],
        vec!["--scale"],
        vec!["--whiten"],
        vec!["--no-center"],
        vec!["--embed", "monomials:2:1"],
        vec!["--kernel", "gaussian"],
        vec!["--kernel", "laplacian", "--scale"],
        vec!["--kernel", "poly", "--degree", "3", "--coef0", "1"],
    ] {
        let mut fit = vec!["fit", "wine", "-k", "3", "-o", "m", "-q"];
        fit.extend(&model);
        run.ok(&fit);
        let scores = values(&run.text("m.scores.csv"));
        let again = values(&run.ok(&["transform", "m.mercer.safetensors", "wine"]));
        let scale = scores.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let gap = scores.iter().zip(&again).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(scores.len() == again.len() && gap <= 1e-10 * scale, "{model:?}: {gap}");
    }
    // a few rows in another order of columns give the same rows
    run.ok(&["fit", "iris", "--kernel", "gaussian", "-k", "2", "-o", "i", "-q"]);
    run.put("few.csv", "petal_width,id,petal_length,sepal_width,sepal_length\n0.2,007,1.4,3.5,5.1\n");
    let one = run.ok(&["transform", "i.mercer.safetensors", "few.csv", "--id", "id", "--errors"]);
    assert!(one.starts_with("id,PC1,PC2,squared_error\n007,"), "{one}");
    let first = run.ok(&["transform", "i.mercer.safetensors", "iris"]);
    let field = |text: &str, i: usize| text.lines().nth(1).and_then(|l| l.split(',').nth(i)).map(String::from);
    assert_eq!(field(&one, 1), field(&first, 1), "the same bits alone and in a batch");
    run.ok(&["transform", "i.mercer.safetensors", "iris", "-o", "z.npy"]);
    assert!(fs::read(run.path().join("z.npy")).expect("z.npy").starts_with(b"\x93NUMPY"));
}

#[test]
fn reconstruct_takes_scores_or_points() {
    let run = Run::new();
    run.ok(&["fit", "iris", "-k", "4", "-o", "m", "-q"]);
    let from_scores = run.ok(&["reconstruct", "m.mercer.safetensors", "m.scores.csv", "-q"]);
    assert!(from_scores.starts_with("class,sepal_length,sepal_width,petal_length,petal_width\nsetosa,5."));
    let from_points = run.ok(&["reconstruct", "m.mercer.safetensors", "iris", "-q"]);
    let first = |text: &str| -> Vec<f64> {
        text.lines().nth(1).expect("a row").split(',').skip(1).map(|v| v.parse().expect("a number")).collect()
    };
    for text in [&from_scores, &from_points] {
        for (found, expected) in first(text).iter().zip([5.1, 3.5, 1.4, 0.2]) {
            assert!((found - expected).abs() < 1e-12);
        }
    }
    run.ok(&["fit", "iris", "-k", "2", "-o", "two", "-q"]);
    let output = run.output(&["reconstruct", "two.mercer.safetensors", "iris"]);
    has(&String::from_utf8_lossy(&output.stderr), &["15.2046"]);
    run.ok(&["fit", "iris", "--kernel", "laplacian", "-o", "k", "-q"]);
    let message = run.fails(1, &["reconstruct", "k.mercer.safetensors", "iris"]);
    has(&message, &["pre-images exist for the gaussian kernel", "laplacian", "help"]);
}

#[test]
fn reconstruct_finds_pre_images_for_the_gaussian() {
    let run = Run::new();
    run.ok(&["fit", "iris", "--kernel", "gaussian(gamma=0.05)", "-k", "2", "-o", "g", "-q"]);
    let output = run.output(&["reconstruct", "g.mercer.safetensors", "iris"]);
    let (text, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    has(&text, &["class,sepal_length,sepal_width,petal_length,petal_width", "setosa,5.", "virginica,6."]);
    has(&told, &["error ", "in the feature space of the kernel", "pre-images 150 of 150 searches converged"]);
    // By way of the scores in a file the same, whose text reads back as the same numbers.
    assert_eq!(run.ok(&["reconstruct", "g.mercer.safetensors", "g.scores.csv", "-q"]).lines().count(), 151);
}

#[test]
fn components_by_number_share_or_all() {
    let run = Run::new();
    let count = |k: &str| {
        run.ok(&["fit", "digits", "-k", k, "-o", "-", "-q"]).lines().next().expect("names").split(',').count()
    };
    // the labels of an embedded set are kept, though those of digits are numbers
    assert_eq!(count("3"), 1 + 3);
    assert_eq!(count("0.95"), 1 + 29);
    let all = run.ok(&["fit", "iris", "-k", "all", "-o", "-", "-q"]);
    assert!(all.starts_with("class,PC1,PC2,PC3,PC4\n"));
    has(&run.fails(2, &["fit", "iris", "-k", "0"]), &["share like 0.95"]);
    has(&run.fails(2, &["fit", "iris", "-k", "1.5"]), &["share like 0.95"]);
    has(
        &run.fails(1, &["fit", "iris", "-k", "9"]),
        &["components = 9", "components <= 4, the smaller of points and columns"],
    );
    has(
        &run.ok(&["fit", "iris", "--kernel", "linear", "-k", "9"]),
        &["9 components asked for, 4 found: the others have no variance"],
    );
}

#[test]
fn gram_matrices_are_data_too() {
    let run = Run::new();
    run.put("gram.csv", "2,1,0\n1,2,0.5\n0,0.5,1\n");
    has(&run.ok(&["fit", "gram.csv", "--kernel", "precomputed", "-k", "2", "-o", "g"]), &["given Gram matrix"]);
    assert!(run.ok(&["transform", "g.mercer.safetensors", "gram.csv"]).starts_with("PC1,PC2\n"));
    run.put("bad.csv", "2,1,0\n1,2,0.5\n0.1,0.5,1\n");
    has(
        &run.fails(1, &["fit", "bad.csv", "--kernel", "precomputed"]),
        &["not symmetric", "K[0][2] = 0", "K[2][0] = 0.1"],
    );
    run.put("wide.csv", "2,1,0\n1,2,0.5\n");
    has(&run.fails(1, &["fit", "wide.csv", "--kernel", "precomputed"]), &["square"]);
    let output = run.output(&["check", "bad.csv", "--kernel", "precomputed"]);
    assert_eq!(output.status.code(), Some(1));
    has(&String::from_utf8_lossy(&output.stdout), &["symmetric  no"]);
}

#[test]
fn check_reports_the_negative_mass() {
    let run = Run::new();
    has(&run.ok(&["check", "iris", "--kernel", "gaussian"]), &["Mercer's conditions hold"]);
    let output = run.output(&["check", "iris", "--kernel", "sigmoid", "--gamma", "0.05", "--coef0", "-1"]);
    assert_eq!(output.status.code(), Some(1));
    has(&String::from_utf8_lossy(&output.stdout), &["-4.25", "70.3 %", "do not hold"]);
    let json = run.output(&["check", "iris", "--kernel", "sigmoid(gamma=0.05, coef0=-1)", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(value["holds"], false);
    for k in ["1", "2", "100"] {
        let text = run.ok(&["fit", "iris", "--kernel", "sigmoid(gamma=0.05, coef0=-1)", "-k", k]);
        has(&text, &["not positive semi-definite", "70.3 %"]);
    }
}

#[test]
fn json_is_json() {
    let run = Run::new();
    for arguments in [
        vec!["fit", "iris", "--json", "-k", "2"],
        vec!["fit", "iris", "--kernel", "gaussian", "--json", "-k", "2", "-o", "m"],
        vec!["info", "m.mercer.safetensors", "--json"],
        vec!["compare", "iris", "--json", "--restarts", "5"],
        vec!["kernels", "--json"],
    ] {
        let value: serde_json::Value = serde_json::from_str(&run.ok(&arguments)).expect("JSON");
        assert!(value.is_object() || value.is_array());
        if arguments[0] == "info" {
            assert_eq!(value["model"], "kernel_pca");
            assert_eq!(value["eigenvalues"].as_array().map(Vec::len), Some(2));
            assert!(value["certificate"]["worst_relative"].as_f64().expect("a number") < 1e-12);
        }
    }
}

#[test]
fn explain_prints_the_plan_and_stops() {
    let run = Run::new();
    has(&run.ok(&["fit", "iris", "--explain", "-o", "x"]), &["route", "covariance", "memory", "budget"]);
    has(
        &run.ok(&["fit", "digits", "--kernel", "rbf", "--explain"]),
        &["passes", "10 leading components of 1797", "pivots", "tiles", "all cached", "memory"],
    );
    has(&run.ok(&["fit", "digits", "--kernel", "rbf", "-k", "all", "--explain"]), &["dense", "1797 points", "155 MB"]);
    assert!(run.files().is_empty());
    has(
        &run.fails(1, &["fit", "digits", "--kernel", "rbf", "-k", "all", "--memory", "50M"]),
        &["155 MB", "50 MB", "ask for a number of components", "help"],
    );
    has(
        &run.fails(1, &["fit", "digits", "--kernel", "rbf", "--memory", "5M", "--approx", "none"]),
        &["5.0 MB", "--memory", "help"],
    );
    let refused = run.output(&["fit", "digits", "--kernel", "rbf", "-k", "all", "--memory", "50M", "--explain"]);
    assert_eq!(refused.status.code(), Some(1));
    has(&String::from_utf8_lossy(&refused.stdout), &["budget     50 MB", "refused", "155 MB"]);
    let error = run.fails(1, &["fit", "digits", "--embed", "monomials:9"]);
    has(&error, &["features", "polynomial kernel"]);
}

#[test]
fn points_outside_the_domain_of_a_kernel_are_named() {
    let run = Run::new();
    let rows: String = (1..=60).map(|i| format!("{},{}\n", i, if i == 42 { -3 } else { i % 7 })).collect();
    run.put("counts.csv", &format!("a,b\n{rows}"));
    for more in [&[][..], &["--stream", "--approx", "nystroem=10"]] {
        let words = [&["fit", "counts.csv", "--kernel", "chi2", "-k", "2"][..], more].concat();
        has(&run.fails(1, &words), &["row 42, column 'b'", "-3e0", "value >= 0", "chi2"]);
    }
    has(&run.fails(1, &["fit", "counts.csv", "--kernel", "chi2", "--scale"]), &["--scale"]);
    // What a fit refuses, its plan refuses, before the data is read.
    let sigmoid = ["fit", "counts.csv", "--stream", "--kernel", "sigmoid", "--explain"];
    assert_eq!(run.output(&sigmoid).status.code(), Some(1));
    has(&run.ok(&["fit", "counts.csv", "--stream", "--explain"]), &["unknown number of", "batch by batch"]);
}

#[test]
fn explain_and_fit_agree_on_what_fits() {
    let run = Run::new();
    let mut seen = std::collections::BTreeSet::new();
    for budget in (16..32).map(|half| format!("{}K", half * 500)) {
        let words = ["fit", "digits", "--kernel", "gaussian", "-k", "3", "--approx", "none", "--memory", &budget];
        let explained = run.output(&[&words[..], &["--explain"]].concat()).status.code();
        assert_eq!(explained, run.output(&words).status.code(), "{budget}");
        seen.insert(explained);
    }
    assert_eq!(seen.len(), 2, "some fit and some do not");
}

#[test]
fn steps_shows_every_equation() {
    let run = Run::new();
    let text = run.ok(&["steps", "iris", "--rows", "6", "--kernel", "gaussian(over_sigma2=4)"]);
    has(&text, &["(M5)", "(M7)", "(M8)", "(M9)", "(M10)", "(M11)", "(M12)", "(M18)", "kbar", "alpha", "k~"]);
    let text = run.ok(&["steps", "iris", "--new", "5,3,1.5,0.2"]);
    has(&text, &["(M1)", "(M2)", "(M3)", "discarded"]);
    has(&run.fails(2, &["steps", "iris", "--new", "5,3"]), &["2 values, but the data has 4 numeric columns"]);
    has(&run.fails(2, &["steps", "iris", "--rows", "500"]), &["between 2 and 30"]);
}

#[test]
fn demo_does_the_main_job() {
    let run = Run::new();
    let text = run.ok(&["demo"]);
    has(&text, &["400 of 400", "141 of 150", "139 of 150", "mercer-demo", "o setosa"]);
    let svg = run.text("mercer-demo/iris-kernel-pca.svg");
    assert!(svg.starts_with("<svg") && svg.contains("setosa"));
    assert!(run.text("mercer-demo/rings-kernel-pca.scores.csv").starts_with("ring,PC1,PC2\nouter,"));
    assert!(!text.contains('\u{1b}'), "no colour where there is no terminal");
    assert!(run.ok(&["demo", "--color", "always"]).contains('\u{1b}'));
}

#[test]
fn wrong_calls_exit_with_two_and_suggest() {
    let run = Run::new();
    has(
        &run.fails(2, &["fit", "iris", "--kernel", "guassian"]),
        &["'guassian' is not a kernel", "did you mean 'gaussian'?"],
    );
    has(&run.fails(2, &["fit", "iris", "--kernel", "gaussian(gama=2)"]), &["did you mean 'gamma'?"]);
    has(&run.fails(2, &["fit", "iris", "--kernel", "gaussian(gamma=-1)"]), &["gamma = -1; expected gamma > 0"]);
    has(&run.fails(2, &["fit", "iris", "--kernel", "gaussian(sigma=3)"]), &["over_sigma2=S for exp(-d2/S)"]);
    has(&run.fails(2, &["fit", "iris", "--kernle", "rbf"]), &["--kernel"]);
    has(&run.fails(2, &["fitt", "iris"]), &["fit"]);
    has(&run.fails(2, &["kernels", "gausian"]), &["gaussian"]);
    has(&run.fails(2, &["data", "irsi"]), &["iris"]);
    has(&run.fails(2, &["fit", "iris", "--kernel", "linear + rbf", "--gamma", "2"]), &["into the expression"]);
    has(&run.fails(2, &["fit", "iris", "--embed", "monomial:2"]), &["monomials"]);
    has(&run.fails(2, &["fit", "iris", "--memory", "lots"]), &["500M"]);
    run.put("plain.csv", "a,b\n1,2\n3,4\n");
    has(&run.fails(2, &["compare", "plain.csv"]), &["--label"]);
    has(&run.fails(2, &["fit", "iris", "--kernel", "precomputd"]), &["did you mean 'precomputed'?"]);
    has(&run.fails(2, &["fit", "iris", "--kernel", "precomputed", "--gamma", "2"]), &["no meaning"]);
    has(&run.fails(2, &["check", "iris"]), &["--kernel"]);
    has(&run.fails(2, &["fit", "iris", "-o", "-", "--json"]), &["--json"]);
}

#[test]
fn bad_data_exits_with_one_and_changes_no_file() {
    let run = Run::new();
    run.put("out.scores.csv", "precious\n");
    let cases: &[(&str, &str, &[&str])] = &[
        ("text.csv", "a,b\n1,2\n3,oops\n5,6\n", &["text.csv:3: column 'b': \"oops\"", "--id 'b'"]),
        ("ragged.csv", "a,b\n1,2\n3\n", &["ragged.csv:3: 1 field, expected 2", "--delimiter"]),
        ("empty.csv", "", &["empty.csv: has no rows"]),
        ("single.csv", "a,b\n1,2\n", &["single.csv: 1 point, but at least 2 are needed", "more rows"]),
        ("twice.csv", "a,a\n1,2\n3,4\n", &["duplicate column name 'a' (columns 1 and 2)", "--header no --skip 1"]),
        ("gaps.csv", "a,b\n1,\n3,4\n", &["1 missing value in 1 column (b)", "--missing mean or --missing drop"]),
        ("inf.csv", "a,b\n1,inf\n3,4\n", &["row 1, column 'b': value inf is not finite"]),
        ("words.csv", "a,b\nx,y\nz,w\n", &["no numeric column"]),
        ("huge.csv", "a,b\n1e200,2\n-1e200,4\n", &["huge.csv: row 1, column 'a': value 1e200", "rescale"]),
    ];
    // The remedies work.
    run.put("mend.csv", "a,b,b\n1,2,oops\n3,4,5\n5,7,6\n");
    run.ok(&["fit", "mend.csv", "--header", "no", "--skip", "1", "--id", "x3", "-k", "1"]);
    run.put("mend.csv", "a,b,c\n1,2,inf\n3,4,5\n5,7,6\n");
    run.ok(&["fit", "mend.csv", "--select", "!c", "-k", "1"]);
    run.put("mend.csv", "a title\na,b\n1,2\n3,4\n5,7\n");
    has(&run.fails(1, &["fit", "mend.csv"]), &["mend.csv:2: 2 fields, expected 1", "--skip"]);
    run.ok(&["fit", "mend.csv", "--skip", "1", "-k", "1"]);
    for (name, text, parts) in cases {
        run.put(name, text);
        has(&run.fails(1, &["fit", name, "-o", "out"]), parts);
        let kernel = run.output(&["fit", name, "-o", "out", "--kernel", "polynomial(degree=3)"]);
        assert_eq!(kernel.status.code(), Some(1), "{name}");
    }
    has(&run.fails(1, &["fit", "nowhere.csv"]), &["nowhere.csv: no such file"]);
    has(
        &run.fails(1, &["fit", "iris", "-o", "no/such/folder/x"]),
        &["no/such/folder/x.mercer.safetensors", "no such file"],
    );
    has(
        &run.fails(1, &["fit", "iris", "--select", "sepal_lenght"]),
        &["no column 'sepal_lenght'", "did you mean 'sepal_length'?"],
    );
    has(&run.fails(1, &["fit", "iris", "--label", "species"]), &["no column 'species'"]);
    run.ok(&["fit", "iris", "-o", "m", "-q"]);
    run.put("other.csv", "a,b\n1,2\n3,4\n");
    has(
        &run.fails(1, &["transform", "m.mercer.safetensors", "other.csv"]),
        &["fitted to 4 columns", "without sepal_length"],
    );
    has(&run.fails(1, &["transform", "other.csv", "iris"]), &["other.csv: not a readable model"]);
    has(&run.fails(1, &["info", "nowhere"]), &["nowhere"]);
    assert_eq!(run.text("out.scores.csv"), "precious\n", "a failed run destroys nothing");
    assert!(!run.files().iter().any(|f| f.contains("tmp")), "nothing is left behind: {:?}", run.files());
    // a directory has the name of an output: no file of the set is written
    fs::create_dir(run.path().join("d.mercer.safetensors")).expect("a directory");
    has(&run.fails(1, &["fit", "iris", "-o", "d"]), &["a directory, not a regular file"]);
    assert!(!run.path().join("d.scores.csv").exists());
}

#[test]
fn standard_input_and_output_and_quiet_pipes() {
    let run = Run::new();
    let mut child = run
        .command(&["fit", "-", "-k", "1", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    child.stdin.take().expect("stdin").write_all(b"a,b,who\n1,2,x\n2,4.1,y\n3,5.9,z\n").expect("writes");
    let output = child.wait_with_output().expect("ends");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("who,PC1\nx,"));
    has(&String::from_utf8_lossy(&output.stderr), &["standard input: 3 rows", "explained"]);
    // the reader of a pipe stops early: no error, no noise
    let output = Command::new("sh")
        .args(["-c", &format!("'{}' data digits | head -n 1", env!("CARGO_BIN_EXE_mercer"))])
        .output()
        .expect("a shell");
    assert!(output.stderr.is_empty() && output.stdout.starts_with(b"pixel_0_0"));
}

#[test]
fn damaged_parquet_is_an_error_without_noise() {
    let run = Run::new();
    run.ok(&["data", "iris", "-o", "iris.parquet"]);
    let bytes = fs::read(run.path().join("iris.parquet")).expect("iris.parquet");
    let mut refused = 0;
    for at in (4..bytes.len() - 8).step_by(37) {
        let mut bad = bytes.clone();
        bad[at] ^= 0xff;
        fs::write(run.path().join("bad.parquet"), bad).expect("writes");
        let output = run.output(&["fit", "bad.parquet", "-q"]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0 | 1)) && !error.contains("panicked"), "at {at}: {error}");
        refused += usize::from(!output.status.success());
    }
    assert!(refused > 10);
}

#[test]
fn standard_output_has_the_bytes_of_the_file() {
    let run = Run::new();
    for format in ["csv", "tsv", "npy", "parquet"] {
        let name = format!("iris.{format}");
        run.ok(&["data", "iris", "-o", &name]);
        let output = run.output(&["data", "iris", "--format", format]);
        assert!(output.status.success() && output.stdout == fs::read(run.path().join(&name)).expect(&name), "{format}");
        let output = run.output(&["fit", "iris", "-k", "2", "-o", "-", "--format", format]);
        run.ok(&["fit", "iris", "-k", "2", "-o", "f", "--format", format]);
        assert!(output.stdout == fs::read(run.path().join(format!("f.scores.{format}"))).expect("scores"), "{format}");
    }
    // a pipe that is named as a file is written to
    let script = format!("'{}' data iris -o /dev/stdout | head -n 1", env!("CARGO_BIN_EXE_mercer"));
    let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    assert!(output.stdout.starts_with(b"sepal_length"), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn reconstruct_refuses_ambiguous_input() {
    let run = Run::new();
    run.ok(&["fit", "iris", "-k", "4", "-o", "m", "--format", "npy", "-q"]);
    has(
        &run.fails(1, &["reconstruct", "m.mercer.safetensors", "m.scores.npy"]),
        &["both scores and points", "--from scores"],
    );
    let back = run.ok(&["reconstruct", "m.mercer.safetensors", "m.scores.npy", "--from", "scores", "-q"]);
    assert!(back.starts_with("sepal_length,sepal_width,petal_length,petal_width\n5."), "{back}");
    run.ok(&["fit", "iris", "-k", "2", "-o", "two", "--format", "npy", "-q"]);
    assert!(run.ok(&["reconstruct", "two.mercer.safetensors", "two.scores.npy", "-q"]).starts_with("sepal_length"));
}

#[test]
fn missing_values_in_new_data_are_filled_with_the_fitted_means() {
    let run = Run::new();
    for kernel in [vec![], vec!["--kernel", "gaussian"], vec!["--kernel", "gaussian", "--scale"]] {
        let mut fit = vec!["fit", "iris", "-k", "2", "-o", "m", "-q"];
        fit.extend(kernel);
        run.ok(&fit);
        run.put("gap.csv", "sepal_length,sepal_width,petal_length,petal_width\n5.1,,1.4,0.2\n");
        run.put("full.csv", "sepal_length,sepal_width,petal_length,petal_width\n5.1,3.0573333333333337,1.4,0.2\n");
        let first =
            |text: String| text.lines().nth(1).expect("a row").split(',').next().map(|v| v.parse::<f64>().expect("x"));
        let gap =
            first(run.ok(&["transform", "m.mercer.safetensors", "gap.csv", "--missing", "mean", "-q"])).expect("x");
        let full = first(run.ok(&["transform", "m.mercer.safetensors", "full.csv", "-q"])).expect("x");
        assert!((gap - full).abs() < 1e-12);
    }
}

#[test]
fn label_columns_and_choices_are_reported() {
    let run = Run::new();
    has(&run.ok(&["compare", "iris", "--kernel", "sigmoid(gamma=0.05, coef0=-1)"]), &["not positive semi-definite"]);
    has(&run.ok(&["compare", "iris", "--kernel", "gaussian"]), &["gamma = 0.1795", "median"]);
    has(&run.ok(&["fit", "rings", "-k", "2"]), &["PC1 and PC2 are equal within the error: only the space"]);
    has(
        &run.ok(&["fit", "rings", "--kernel", "gaussian(gamma=3)", "-k", "2"]),
        &["PC2 and components that were not kept"],
    );
    run.put("named.csv", "PC1,a,b\nx,1,2\ny,3,5\nz,6,6\n");
    has(&run.fails(1, &["fit", "named.csv", "-o", "out"]), &["'PC1' has the name of a result"]);
    run.put("ids.csv", "id,a,b\nx,1,2\ny,3,5\nz,6,6\n");
    has(&run.fails(1, &["compare", "ids.csv"]), &["3 different labels in 3 rows", "--label"]);
    let text = run.ok(&["fit", "iris", "--kernel", "linear"]);
    assert!(!text.contains("asked for"), "{text}");
    run.put("flat.csv", "a,b\n1,2\n1,2\n1,2\n");
    has(&run.ok(&["fit", "flat.csv", "--kernel", "gaussian"]), &["no component has variance"]);
}

#[test]
fn nesting_threads_and_endless_files_do_not_hang() {
    let run = Run::new();
    let deep = format!("{}linear{}", "normalised(".repeat(40), ")".repeat(40));
    run.ok(&["fit", "iris", "--kernel", &deep, "-k", "2", "-o", "deep", "-q"]);
    run.ok(&["transform", "deep.mercer.safetensors", "iris", "-q"]);
    has(&run.fails(2, &["fit", "iris", "-j", "20000"]), &["1024"]);
    run.put("a.csv", "a,b\n1,2\n3,4\n");
    has(&run.fails(1, &["fit", "a.csv", "--skip", "99999999999"]), &["no rows"]);
    has(&run.fails(1, &["info", "/dev/zero"]), &["a device"]);
    has(&run.fails(2, &["fit", "iris", "-o", ""]), &["file names"]);
}

#[test]
fn selection_and_labels() {
    let run = Run::new();
    let columns = |arguments: &[&str]| {
        let mut all = vec!["fit", "iris", "-k", "1", "--json"];
        all.extend(arguments);
        let value: serde_json::Value = serde_json::from_str(&run.ok(&all)).expect("JSON");
        value["columns"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|c| c.as_str().expect("text").to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(columns(&["--select", "petal_length:petal_width"]), ["petal_length", "petal_width"]);
    assert_eq!(columns(&["--select", "!1"]), ["sepal_width", "petal_length", "petal_width"]);
    assert_eq!(
        columns(&["--select", "@numbers", "--id", "sepal_length"]),
        ["sepal_width", "petal_length", "petal_width"]
    );
    let kept = run.ok(&["fit", "iris", "-k", "1", "--id", "sepal_length", "-o", "-", "-q"]);
    assert!(kept.starts_with("sepal_length,class,PC1\n5.1,setosa,"));
}

#[test]
fn threads_do_not_change_a_byte() {
    let run = Run::new();
    let fit = |threads: &str, prefix: &str| {
        run.ok(&["fit", "digits", "--kernel", "gaussian", "-k", "5", "-j", threads, "-o", prefix, "-q"]);
        (
            run.text(&format!("{prefix}.scores.csv")),
            fs::read(run.path().join(format!("{prefix}.mercer.safetensors"))).expect("model"),
        )
    };
    let one = fit("1", "one");
    assert!(one == fit("2", "two") && one == fit("7", "seven"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_destroys_nothing() {
    let run = Run::new();
    run.ok(&["fit", "iris", "-o", "m", "-q"]);
    // /dev/full takes nothing: it is written to, not replaced
    let output = run.output(&["transform", "m.mercer.safetensors", "iris", "-o", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1));
    has(&String::from_utf8_lossy(&output.stderr), &["/dev/full", "no space left"]);
    // a limit on the size of files simulates a disk that fills up while the outputs are written
    run.put("out.scores.csv", "precious\n");
    let script = format!("trap '' XFSZ; ulimit -f 4; '{}' fit iris -o out", env!("CARGO_BIN_EXE_mercer"));
    let output = Command::new("bash").args(["-c", &script]).current_dir(run.path()).output().expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(run.text("out.scores.csv"), "precious\n");
    assert!(!run.files().iter().any(|f| f.ends_with("tmp") || f == "out.mercer.safetensors"), "{:?}", run.files());
}

#[test]
fn verify_confirms_refutes_and_refuses() {
    let run = Run::new();
    run.ok(&["fit", "iris", "-k", "2", "-o", "p", "-q"]);
    run.ok(&["fit", "iris", "--kernel", "gaussian", "--scale", "-k", "2", "-o", "k", "-q"]);
    for model in ["p.mercer.safetensors", "k.mercer.safetensors"] {
        let text = run.ok(&["verify", model, "iris"]);
        has(&text, &["confirmed  vectors", "PC2: residual", "PC2: eigenvalue", "verdict    confirmed: "]);
        assert!(!text.contains("refuted"), "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&run.ok(&["verify", model, "iris", "--json", "--passes", "3"])).expect("JSON");
        assert_eq!(json["verdict"], "confirmed");
        assert!(json["passes"].as_u64().expect("a number") <= 3);
        assert!(json["claims"].as_array().expect("a list").iter().all(|c| c["outcome"] != "refuted"));
        assert_eq!(json["residuals"].as_array().expect("a list").len(), 2);
    }
    // Other data: one value changed, or one row fewer.
    let data = run.ok(&["data", "iris"]);
    run.put("other.csv", &data.replacen("5.1,", "5.100001,", 1));
    for model in ["p.mercer.safetensors", "k.mercer.safetensors"] {
        let output = run.output(&["verify", model, "other.csv"]);
        assert_eq!(output.status.code(), Some(3));
        has(&String::from_utf8_lossy(&output.stdout), &["refuted    ", "verdict    refuted: "]);
    }
    let fewer: Vec<&str> = data.lines().take(150).collect();
    run.put("fewer.csv", &fewer.join("\n"));
    has(&run.fails(1, &["verify", "p.mercer.safetensors", "fewer.csv"]), &["not that of the fit", "149", "150"]);
    run.fails(2, &["verify", "p.mercer.safetensors", "iris", "--passes", "0"]);
    has(&run.ok(&["verify", "--help"]), &["--passes <N>", "[default: 8]", "3 if a claim is refuted"]);
}

#[test]
fn rigorous_error_bounds_are_made_saved_and_refused() {
    let run = Run::new();
    let text = run.ok(&["fit", "iris", "--kernel", "gaussian", "-k", "2", "--rigorous", "-o", "out"]);
    has(&text, &["all rounding enclosed", "by a Cholesky decomposition"]);
    let info: serde_json::Value =
        serde_json::from_str(&run.ok(&["info", "out.mercer.safetensors", "--json"])).expect("JSON");
    assert_eq!(info["certificate"]["rigorous"], true);
    assert!(
        info["certificate"]["statements"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|s| s["confidence"]["kind"] == "theorem")
    );
    has(&run.ok(&["verify", "out.mercer.safetensors", "iris"]), &["verdict    confirmed"]);
    has(&run.ok(&["fit", "wine", "--rigorous", "--scale"]), &["all rounding enclosed"]);
    has(&run.fails(2, &["fit", "iris", "--rigorous", "--stream"]), &["--rigorous", "--stream"]);
    let landmarks = ["fit", "iris", "--kernel", "gaussian", "--approx", "nystroem=20", "--rigorous"];
    has(&run.fails(2, &landmarks), &["--rigorous", "--approx none"]);
    has(&run.fails(1, &["fit", "iris", "--embed", "monomials:2", "--rigorous"]), &["embedding"]);
}
