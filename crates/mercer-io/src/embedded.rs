//! The data sets that come with mercer.

/// One embedded data set.
#[derive(Debug)]
pub struct DataSet {
    /// Its name, taken wherever a file is expected.
    pub name: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Number of numeric columns.
    pub columns: usize,
    /// The column of labels.
    pub label: &'static str,
    /// What it is.
    pub about: &'static str,
    source: Content,
}

#[derive(Debug)]
enum Content {
    Text(&'static str),
    Made(fn() -> String),
}

/// All embedded data sets.
pub const DATA_SETS: &[DataSet] = &[
    DataSet {
        name: "iris",
        rows: 150,
        columns: 4,
        label: "class",
        about: "Fisher's irises: sepals and petals of three species",
        source: Content::Text(include_str!("../data/iris.csv")),
    },
    DataSet {
        name: "wine",
        rows: 178,
        columns: 13,
        label: "class",
        about: "chemistry of wines from three growers; columns of very different scale",
        source: Content::Text(include_str!("../data/wine.csv")),
    },
    DataSet {
        name: "digits",
        rows: 1797,
        columns: 64,
        label: "class",
        about: "handwritten digits as images of 8 x 8 pixels",
        source: Content::Text(include_str!("../data/digits.csv")),
    },
    DataSet {
        name: "rings",
        rows: 400,
        columns: 2,
        label: "ring",
        about: "two rings around the origin, of radius 1 and 0.3",
        source: Content::Made(rings),
    },
];

impl DataSet {
    /// The whole set as CSV.
    pub fn csv(&self) -> String {
        match self.source {
            Content::Text(text) => text.to_string(),
            Content::Made(make) => make(),
        }
    }
}

pub(crate) fn find(name: &str) -> Option<&'static DataSet> {
    DATA_SETS.iter().find(|s| s.name == name)
}

fn rings() -> String {
    let mut csv = String::from("x,y,ring\n");
    for (radius, ring) in [(1.0, "outer"), (0.3, "inner")] {
        for i in 0..200 {
            let angle = std::f64::consts::TAU * f64::from(i) / 200.0;
            csv += &format!("{},{},{ring}\n", radius * angle.cos(), radius * angle.sin());
        }
    }
    csv
}
