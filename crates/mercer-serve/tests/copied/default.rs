use mercer::{Kernel, KernelPca};
use mercer_io::{Table, read};

let table = read("wine")?;
let columns = ["malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids", "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280/od315_of_diluted_wines", "proline"];
let columns = columns.iter().map(|c| table.column(c).cloned()).collect::<Result<_, _>>()?;
let x = Table::new("x", columns)?.points()?;
let kernel: Kernel = "polynomial".parse()?;
let model = KernelPca::new(kernel).components(3).standardise(true).fit(&x)?;
let scores = model.scores();
println!("{}", model.certificate());
