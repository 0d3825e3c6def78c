import mercer
import pandas as pd

# mercer data wine -o wine.csv
table = pd.read_csv("wine.csv")
X = table.drop(columns="class")
X = X.fillna(X.mean())
model = mercer.PCA(2)
scores = model.fit_transform(X)
print(model.certificate_)
