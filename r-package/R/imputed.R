# Imputed data: several completed copies of one data set.

# The data sets behind 'data', or NULL where it is a single one.
imputed_sets <- function(data) {
  if (inherits(data, "mids")) {
    if (!requireNamespace("mice", quietly = TRUE)) {
      relbounds_stop("'data' is a mids object, which needs the package mice; it is not installed.")
    }
    return(check_sets(mice::complete(data, "all")))
  }
  several <- is.list(data) && !is.data.frame(data) && length(data) && all(vapply(data, is.data.frame, NA))
  if (several) check_sets(unclass(data))
}

check_sets <- function(sets) {
  sets <- unname(as.list(sets))
  sets <- lapply(sets, as.data.frame)
  if (length(sets) < 2) relbounds_stop("'data' is a list of one data frame; imputed data are two or more.")
  for (i in seq_along(sets)[-1]) {
    if (nrow(sets[[i]]) != nrow(sets[[1]])) {
      relbounds_stop("The imputed data sets differ: number ", i, " has ", nrow(sets[[i]]), " rows, the first ", nrow(sets[[1]]), ".")
    }
    odd <- union(setdiff(names(sets[[i]]), names(sets[[1]])), setdiff(names(sets[[1]]), names(sets[[i]])))
    if (length(odd)) {
      relbounds_stop("The imputed data sets differ: column ", quote_names(odd[1]), " is not in all of them.")
    }
  }
  sets
}
