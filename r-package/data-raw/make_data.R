# Makes data/*.rda from the CSV files that the Python package ships, so that both have the same data.
# Run from the root of the repository: Rscript r-package/data-raw/make_data.R
from <- function(file) utils::read.csv(file.path("relbounds", "datasets", file), stringsAsFactors = FALSE)
to <- function(name) file.path("r-package", "data", paste0(name, ".rda"))

severity <- from("severity.csv")
severity$severity <- ordered(severity$severity, levels = c("none", "mild", "moderate", "severe"))
severity$sex <- factor(severity$sex)
save(severity, file = to("severity"), compress = "xz", version = 3)

severity_truth <- from("severity_truth.csv")
save(severity_truth, file = to("severity_truth"), compress = "xz", version = 3)

breast_cancer <- from("breast_cancer.csv")
breast_cancer$diagnosis <- factor(breast_cancer$diagnosis, levels = c("benign", "malignant"))
save(breast_cancer, file = to("breast_cancer"), compress = "xz", version = 3)
