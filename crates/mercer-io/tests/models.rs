//! Model files: the same bits after a round trip, and nothing in a file is trusted.
#![allow(missing_docs)]

use mercer::parts::{KernelPcaParts, PcaParts};
use mercer::text::checksum;
use mercer::{
    AnyModel, Embedding, Exec, Gamma, Kernel, KernelPca, KernelPcaModel, Landmarks, NystroemModel, Pca, PcaModel,
    Points, Route, Source, Spec,
};
use mercer_io::{Error, SavedModel, load_model, read};

fn models() -> Vec<SavedModel> {
    let table = read("iris").expect("iris");
    let x = table.points().expect("numbers");
    let columns: Vec<String> = table.columns.iter().take(4).map(|c| c.name.clone()).collect();
    let pca = |spec: Pca| AnyModel::Pca(spec.fit(&x).expect("fits"));
    let kernel = |text: &str, standardise: bool| {
        let spec = KernelPca::new(text.parse::<Kernel>().expect(text)).components(3).standardise(standardise);
        AnyModel::KernelPca(spec.fit(&x).expect("fits"))
    };
    [
        pca(Pca::new()),
        pca(Pca::new().components(2).standardise(true).whiten(true)),
        pca(Pca::new().center(false).route(Route::Svd)),
        pca(Pca::new().embed(Embedding::monomials_up_to(2, 0.3)).components(3)),
        kernel("gaussian", false),
        kernel("gaussian(over_sigma2=150)", true),
        kernel("0.1*gaussian(gamma=scale) + linear * matern(nu=5/2)", false),
        kernel("linear + normalised(polynomial(degree=3, coef0=0.7))", true),
        kernel("sigmoid(gamma=0.05, coef0=-1)", false),
    ]
    .into_iter()
    .map(|model| SavedModel { model, columns: columns.clone(), front: None, spec: None })
    .collect()
}

#[test]
fn a_round_trip_keeps_every_bit() {
    let x = read("iris").and_then(|t| t.points()).expect("iris");
    let x = Points::from_fn(150, 4, |i, j| x.row(i)[j] * 1.01 + 0.1);
    for saved in models() {
        let bytes = saved.to_bytes().expect("saves");
        assert_eq!(bytes, saved.to_bytes().expect("saves"), "equal models are equal files");
        let back = SavedModel::from_bytes("m", &bytes).expect("loads");
        assert_eq!(bytes, back.to_bytes().expect("saves again"));
        assert_eq!(saved.columns, back.columns);
        let scores = |m: &AnyModel| m.transform(&x, &Exec::new()).expect("transforms");
        assert_eq!(scores(&saved.model), scores(&back.model), "the same scores to the last bit");
        assert_eq!(saved.model.spectrum(), back.model.spectrum());
        assert_eq!(saved.model.certificate(), back.model.certificate());
        assert_eq!(saved.model.notes(), back.model.notes());
        let errors = |m: &AnyModel| m.squared_errors(&x, &Exec::new()).expect("errors");
        assert_eq!(errors(&saved.model), errors(&back.model));
    }
}

#[test]
fn features_of_landmarks_are_saved() {
    let x = read("iris").expect("embedded").points().expect("numbers");
    let landmarks = Points::from_fn(9, x.d(), |i, j| x.row(16 * i)[j]);
    let weights = Points::from_fn(9, 4, |i, j| ((i + 2 * j) as f64).sin());
    let kernel: Kernel = "0.5*gaussian(gamma=0.3) + linear".parse().expect("a kernel");
    let model = NystroemModel::new(kernel.clone(), landmarks.clone(), weights.clone()).expect("fits together");
    let columns: Vec<String> = (1..=4).map(|i| format!("x{i}")).collect();
    let saved = SavedModel { model: AnyModel::Nystroem(model), columns, front: None, spec: None };
    let back = SavedModel::from_bytes("m", &saved.to_bytes().expect("saves")).expect("loads");
    let features = |m: &SavedModel| m.model.transform(&x, &Exec::new()).expect("transforms");
    assert_eq!(features(&saved), features(&back));
    // z(x) = W'k(x), not centred
    for i in [0, 77] {
        for j in 0..4 {
            let z: f64 = (0..9).map(|l| kernel.eval(x.row(i), landmarks.row(l)) * weights.row(l)[j]).sum();
            assert!((features(&saved).row(i)[j] - z).abs() < 1e-12 * 9.0 * 100.0);
        }
    }
    assert!(back.model.spectrum().is_none() && back.model.squared_errors(&x, &Exec::new()).is_err());
    let auto = NystroemModel::new(Kernel::gaussian(Gamma::Median), landmarks, weights);
    assert!(auto.expect_err("no number").to_string().contains("not numbers"));
}

#[test]
fn a_gram_model_is_saved_without_points() {
    let gram = Points::from_rows(&[[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]]);
    let model = KernelPca::custom().fit_gram(&gram).expect("fits");
    let columns = (1..=3).map(|i| format!("x{i}")).collect();
    let saved = SavedModel { model: AnyModel::KernelPca(model), columns, front: None, spec: None };
    let back = SavedModel::from_bytes("m", &saved.to_bytes().expect("saves")).expect("loads");
    let exec = Exec::new();
    assert_eq!(saved.model.transform(&gram, &exec), back.model.transform(&gram, &exec));
}

#[test]
fn the_spec_is_saved_with_the_model_and_may_be_missing() {
    let x = Points::from_fn(20, 2, |i, j| ((i * (j + 2)) as f64).sin());
    let spec: Spec = KernelPca::new("gaussian(length=[1, 0.5])".parse().expect("a kernel")).components(2).into();
    let model = spec.fit(Source::points(&x), &Exec::new()).expect("fits").model;
    for spec in [Some(spec), None] {
        let columns = vec!["a".into(), "b".into()];
        let saved = SavedModel { model: model.clone(), columns, front: None, spec: spec.clone() };
        let back = SavedModel::from_bytes("m", &saved.to_bytes().expect("saves")).expect("loads");
        assert_eq!(back.spec, spec);
    }
}

#[test]
fn models_of_functions_are_refused() {
    let x = Points::from_rows(&[[0.0], [1.0], [3.0]]);
    let model = KernelPca::custom().fit_fn(&x, |a, b| (a[0] * b[0]).exp()).expect("fits");
    let saved = SavedModel { model: AnyModel::KernelPca(model), columns: vec!["a".into()], front: None, spec: None };
    assert!(saved.to_bytes().is_err_and(|e| e.to_string().contains("no code")));
    let model = Pca::new().embed(Embedding::new(2, |x| vec![x[0], x[0] * x[0]])).fit(&x).expect("fits");
    let saved = SavedModel { model: AnyModel::Pca(model), columns: vec!["a".into()], front: None, spec: None };
    assert!(saved.to_bytes().is_err_and(|e| e.to_string().contains("no code")));
}

#[test]
fn damaged_files_are_refused_and_never_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.safetensors");
    for saved in models().into_iter().take(6) {
        let bytes = saved.to_bytes().expect("saves");
        // cut off anywhere
        for at in [0, 1, 7, 8, 9, 100, bytes.len() / 2, bytes.len() - 1] {
            assert!(SavedModel::from_bytes("m", &bytes[..at]).is_err(), "cut at {at}");
        }
        // every byte of the head changed in turn, and some of the body; any other value of some bytes
        let head = 8 + u64::from_le_bytes(bytes[..8].try_into().expect("eight")) as usize;
        let places = (0..head).chain((head..bytes.len()).step_by(97));
        let version = bytes.windows(14).position(|w| w == b"mercer-model/2").expect("the version") + 13;
        let changes = places.flat_map(|at| [1u8, 0x20, 0x80, 0xff].map(|flip| (at, flip)));
        for (at, flip) in changes.chain((1..=255).map(|flip| (version, flip))) {
            let mut bad = bytes.clone();
            bad[at] ^= flip;
            assert!(SavedModel::from_bytes("m", &bad).is_err(), "byte {at}");
        }
        // a header that promises more than there is
        let mut bad = bytes.clone();
        bad[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(SavedModel::from_bytes("m", &bad).is_err());
        // not finite
        let mut bad = bytes.clone();
        let end = bad.len();
        bad[end - 8..].copy_from_slice(&f64::NAN.to_le_bytes());
        assert!(SavedModel::from_bytes("m", &bad).is_err());
        // trailing bytes
        let mut bad = bytes.clone();
        bad.extend([0; 8]);
        assert!(SavedModel::from_bytes("m", &bad).is_err());
        std::fs::write(&path, &bytes).expect("writes");
        assert!(load_model(path.to_str().expect("text")).is_ok());
    }
    assert!(matches!(load_model("/nowhere/model"), Err(Error::Io { .. })));
    assert!(matches!(load_model(folder.path().to_str().expect("text")), Err(Error::NotRegular { .. })));
}

/// The checksum of a file made right again, so that the checks behind it are reached.
fn signed_again(mut file: Vec<u8>) -> Vec<u8> {
    let key = br#"\"checksum\":\""#;
    let place = file.windows(key.len()).position(|w| w == key).expect("a checksum") + key.len();
    let parts = [&file[..place], &file[place + 16..]].map(|part| checksum(part).to_le_bytes()).concat();
    file[place..place + 16].copy_from_slice(format!("{:016x}", checksum(&parts)).as_bytes());
    file
}

#[test]
fn a_changed_file_is_told_from_a_damaged_one() {
    let bytes = models().swap_remove(4).to_bytes().expect("saves");
    assert_eq!(signed_again(bytes.clone()), bytes);
    let mut other = bytes.clone();
    let last = other.len() - 1;
    other[last - 2] ^= 1;
    let error = SavedModel::from_bytes("m", &other).expect_err("changed");
    assert!(error.to_string().contains("m: checksum mismatch"), "{error}");
    assert!(error.remedy().expect("a remedy").to_string().contains("copy it again"));
    assert!(SavedModel::from_bytes("m", &signed_again(other)).is_ok(), "only the last digits of a number differ");
}

#[test]
fn files_without_a_checksum_are_read() {
    let x = Points::from_rows(&[[1.0, 2.0], [-3.0, 0.25]]);
    for name in ["pca", "kernel", "landmarks"] {
        let path = format!("{}/../../testdata/models/{name}-1.safetensors", env!("CARGO_MANIFEST_DIR"));
        let old = load_model(&path).expect(name);
        assert_eq!(old.columns, ["a", "b"]);
        let new = SavedModel::from_bytes("m", &old.to_bytes().expect("saves")).expect("loads");
        let scores = |m: &SavedModel| m.model.transform(&x, &Exec::new()).expect("transforms");
        assert_eq!(scores(&old), scores(&new));
    }
}

#[test]
fn points_and_weights_that_no_fit_has_are_refused() {
    let x = Points::from_fn(12, 2, |i, j| ((i * (j + 2)) as f64).sin());
    let spec = KernelPca::new("gaussian(gamma=0.5)".parse().expect("a kernel")).components(2);
    let exact = spec.clone().fit(&x).expect("fits").to_parts().expect("parts");
    let landmarks = spec.clone().landmarks(Landmarks::Uniform(5)).fit(&x).expect("fits").to_parts().expect("parts");
    let scaled = spec.standardise(true).fit(&x).expect("fits").to_parts().expect("parts");
    let refused = |parts: &KernelPcaParts, change: &dyn Fn(&mut KernelPcaParts)| {
        assert!(KernelPcaModel::from_parts(parts.clone()).is_ok());
        let mut bad = parts.clone();
        change(&mut bad);
        KernelPcaModel::from_parts(bad).expect_err("no fit has these").to_string()
    };
    for parts in [&exact, &landmarks, &scaled] {
        for huge in [1e308, 1.7e270, -1e141, f64::NAN] {
            refused(parts, &|p| p.points.row_mut(1)[0] = huge);
            refused(parts, &|p| p.shift[1] = huge);
        }
        refused(parts, &|p| (0..p.weights.n()).for_each(|i| p.weights.row_mut(i).fill(f64::MAX)));
        refused(parts, &|p| p.points = Points::new(Vec::new(), p.points.n(), 0).expect("no columns"));
    }
    for huge in [1e308, f64::INFINITY] {
        refused(&scaled, &|p| p.standardise.as_mut().expect("standardised").mean[0] = huge);
        refused(&scaled, &|p| p.standardise.as_mut().expect("standardised").scale[0] = huge);
    }
    let error = refused(&landmarks, &|p| p.kernel = Some("chi2(gamma=1)".parse().expect("a kernel")));
    assert!(error.contains("value >= 0"), "{error}");
    let parts = Pca::new().fit(&x).expect("fits").to_parts();
    let changes: [fn(&mut PcaParts); 3] =
        [|p| p.mean[0] = 1e308, |p| p.scale[1] = 1e200, |p| p.axes.row_mut(0)[0] = 1e300];
    for change in changes {
        let mut bad = parts.clone();
        change(&mut bad);
        assert!(PcaModel::from_parts(bad).is_err());
    }
}

#[test]
fn impossible_metadata_is_refused() {
    let bytes = models().swap_remove(4).to_bytes().expect("saves");
    let head = u64::from_le_bytes(bytes[..8].try_into().expect("eight")) as usize;
    let with = |from: &str, to: &str| {
        let text = String::from_utf8(bytes[8..8 + head].to_vec()).expect("text");
        assert!(text.contains(from), "{from} in {text}");
        let text = text.replacen(from, to, 1);
        let mut file = (text.len() as u64).to_le_bytes().to_vec();
        file.extend(text.as_bytes());
        file.extend(&bytes[8 + head..]);
        SavedModel::from_bytes("m", &signed_again(file))
    };
    assert!(with("sepal_width", "sepal_width").is_ok());
    for (from, to) in [
        ("sepal_width", "sepal_length"),
        (r#"\"rank\":1"#, r#"\"rank\":99999999991"#),
        (r#"\"total\":"#, r#"\"total\":-"#),
        (r#"\"rounding\":"#, r#"\"rounding\":-"#),
        (r#"\"n\":150"#, r#"\"n\":149"#),
        (r#"\"negative_count\":0"#, r#"\"negative_count\":7"#),
        (r#"\"absolute_mass\":"#, r#"\"absolute_mass\":-"#),
        ("gaussian(gamma=", "gaussian(gamma=-"),
    ] {
        assert!(with(from, to).is_err(), "{to}");
    }
}

#[test]
fn kernels_built_by_hand_come_back_with_every_bit() {
    let x = read("iris").and_then(|t| t.points()).expect("iris");
    let (g, l) = (Kernel::gaussian(Gamma::Value(0.3)), Kernel::linear());
    let scaled = |w: f64, k: &Kernel| Kernel::Scaled(w, Box::new(k.clone()));
    for kernel in [
        Kernel::Sum(vec![l.clone(), Kernel::Sum(vec![g.clone(), Kernel::cosine()])]),
        Kernel::Product(vec![scaled(0.3, &g), scaled(0.7, &Kernel::cosine())]),
        scaled(0.1, &scaled(0.7, &g)),
        Kernel::Sum(vec![Kernel::Product(vec![g.clone()])]),
    ] {
        let model = AnyModel::KernelPca(KernelPca::new(kernel).components(3).fit(&x).expect("fits"));
        let saved = SavedModel { model, columns: (1..=4).map(|i| format!("x{i}")).collect(), front: None, spec: None };
        let back = SavedModel::from_bytes("m", &saved.to_bytes().expect("saves")).expect("loads");
        let exec = Exec::new();
        assert_eq!(saved.model.transform(&x, &exec), back.model.transform(&x, &exec));
    }
}

#[test]
fn other_versions_and_other_files_are_distinguished() {
    let bytes = models().swap_remove(0).to_bytes().expect("saves");
    let at = bytes.windows(14).position(|w| w == b"mercer-model/2").expect("the version");
    let mut other = bytes.clone();
    other[at + 13] = b'9';
    let error = SavedModel::from_bytes("m", &other).expect_err("another version").to_string();
    assert!(error.contains("mercer-model/9") && error.contains("mercer-model/2"), "{error}");
    assert!(SavedModel::from_bytes("m", b"PC1,PC2\n1,2\n").is_err());
}

#[test]
fn standardised_kernel_models_are_kernel_models_of_standardised_points() {
    let x = read("wine").and_then(|t| t.points()).expect("wine");
    let location = Pca::new().standardise(true).fit(&x).expect("fits");
    let z = Points::from_fn(x.n(), x.d(), |i, j| (x.row(i)[j] - location.mean()[j]) / location.scale()[j]);
    let spec = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(4);
    let (scaled, plain) = (spec.clone().standardise(true).fit(&x).expect("fits"), spec.fit(&z).expect("fits"));
    assert_eq!(scaled.spectrum(), plain.spectrum());
    assert_eq!(scaled.transform(&x).expect("x"), plain.transform(&z).expect("z"));
}
