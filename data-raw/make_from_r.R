# Make wine.csv (package ordinal) and housing.csv (package MASS): Rscript data-raw/make_from_r.R
args <- commandArgs(trailingOnly = FALSE)
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", args, value = TRUE)[1])))
here <- file.path(dirname(here), "relbounds", "datasets")

wine <- ordinal::wine
stopifnot(is.ordered(wine$rating), nrow(wine) == 72)
write.csv(wine, file.path(here, "wine.csv"), row.names = FALSE, quote = FALSE)

housing <- MASS::housing
stopifnot(is.ordered(housing$Sat), nrow(housing) == 72)
names(housing) <- c("satisfaction", "influence", "type", "contact", "freq")
for (column in c("satisfaction", "influence", "type", "contact")) {
  housing[[column]] <- tolower(as.character(housing[[column]]))
}
write.csv(housing, file.path(here, "housing.csv"), row.names = FALSE, quote = FALSE)

cat("wine.csv: ", nrow(wine), " rows; housing.csv: ", nrow(housing), " rows, ",
    sum(housing$freq), " householders\n", sep = "")
