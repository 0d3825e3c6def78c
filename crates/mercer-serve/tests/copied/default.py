import mercer
import pandas as pd

# mercer data wine -o wine.csv
table = pd.read_csv("wine.csv")
X = table[["malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids", "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280/od315_of_diluted_wines", "proline"]]
X = (X - X.mean()) / X.std().replace(0, 1)
model = mercer.KernelPCA(3, kernel="polynomial(gamma=1, coef0=0, degree=2)")
scores = model.fit_transform(X)
print(model.certificate_)
