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
  # two letters swapped count as two changes
  if (distance[best] > max(if (nchar(name) > 3) 2 else 1, nchar(name) %/% 3)) return("")
  paste0(" Did you mean '", candidates[best], "'?")
}

# What print() of lists and data frames may hand on to the methods of what is inside.
PRINT_ARGUMENTS <- c("digits", "quote", "na.print", "print.gap", "right", "max", "width", "useSource", "row.names")

# Refuses what a method does not know. R matches the beginning of a name to an argument and swallows unknown ones in
# '...': groups(fit, by = "overlap") would set by_class, and predict(fit, tpye = "score") would be ignored. Called first
# in every method; looks at the call as the user wrote it.
check_arguments <- function(allow = character()) {
  fun <- sys.function(-1L)
  env <- parent.frame()
  call <- match.call(function(...) NULL, sys.call(-1L), envir = parent.frame(2L))
  known <- setdiff(names(formals(fun)), "...")
  given <- names(call)[-1]
  given <- given[nzchar(given)]
  bad <- setdiff(given, c(known, allow))
  if (length(bad)) stop_unknown(bad[1], known)
  if (!"..." %in% names(formals(fun))) return(invisible())
  rest <- eval(quote(...length()), env) - sum(given %in% setdiff(allow, known))
  if (rest > 0) stop_unknown("", known)
}

stop_unknown <- function(name, known) {
  shown <- paste0(" The arguments are: ", paste(known, collapse = ", "), ".")
  if (!nzchar(name)) {
    relbounds_stop("There is an argument without a name that no place is left for.", shown, class = "relbounds_option_error")
  }
  longer <- known[startsWith(known, name)]
  hint <- if (length(longer)) paste0(" Did you mean '", longer[1], "'?") else nearest(name, known)
  relbounds_stop("There is no argument '", name, "'.", hint, shown, class = "relbounds_option_error")
}

# One of several words, written out in full; an error names them all and the nearest.
one_of <- function(value, known, name) {
  if (identical(value, known)) return(known[1])
  if (!is.character(value) || length(value) != 1 || is.na(value) || !value %in% known) {
    shown <- if (is.character(value) && length(value) == 1) paste0(name, " = \"", value, "\" is not known; use ") else
      paste0("'", name, "' must be one of ")
    relbounds_stop(shown, quote_strings(known), ".", if (is.character(value) && length(value) == 1) nearest(value, known),
                   class = "relbounds_option_error")
  }
  value
}

quote_strings <- function(x, last = "or") gsub("'", "\"", quote_names(x, last), fixed = TRUE)
