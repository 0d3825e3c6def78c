use mercer::Pca;
use mercer_io::{Missing, Table, read};

let table = read("wine")?;
let columns = ["alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids", "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280/od315_of_diluted_wines", "proline"];
let columns = columns.iter().map(|c| table.column(c).cloned()).collect::<Result<_, _>>()?;
let mut x = Table::new("x", columns)?;
x.resolve_missing(Missing::Mean, &mut Table::new("", vec![])?)?;
let x = x.points()?;
let model = Pca::new().components(2).fit(&x)?;
let scores = model.transform(&x)?;
println!("{}", model.certificate());
