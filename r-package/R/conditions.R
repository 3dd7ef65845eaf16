# Conditions: every problem is a classed R condition that says what was wrong, where, and what to do.

relbounds_stop <- function(..., class = NULL, call = NULL) {
  stop(errorCondition(paste0(...), class = c(class, "relbounds_error"), call = call))
}

relbounds_warn <- function(..., class = NULL, call = NULL) {
  warning(warningCondition(paste0(...), class = c(class, "relbounds_warning"), call = call))
}

# Errors of R's own model code become ours, so that one class catches them all.
as_relbounds_error <- function(expr, prefix = "", hint = "") {
  tryCatch(expr, error = function(e) {
    if (inherits(e, "relbounds_error")) stop(e)
    relbounds_stop(prefix, conditionMessage(e), hint)
  })
}

# "'a', 'b' and 'c'"
quote_names <- function(x, last = "and") {
  x <- paste0("'", x, "'")
  if (length(x) < 2) return(x)
  paste(paste(x[-length(x)], collapse = ", "), last, x[length(x)])
}

# " Did you mean 'x'?" for the closest candidate, or nothing.
nearest <- function(name, candidates) {
  if (!length(candidates)) return("")
  distance <- utils::adist(name, candidates, ignore.case = TRUE)[1, ]
  best <- which.min(distance)
  if (distance[best] > max(1, nchar(name) %/% 3)) return("")
  paste0(" Did you mean '", candidates[best], "'?")
}
