# Answers of Python as R's own objects: data frames, named vectors, lists.

# A question to the fit that the R object carries, by the name of Python's method. NULL arguments are left to Python's
# defaults.
ask <- function(object, name, ...) {
  arguments <- plain_options(Filter(Negate(is.null), list(...)))
  untell(python_call("ask", class(object)[1], serialized(object), name, if (length(arguments)) arguments))
}

# What Python said in plain lists.
untell <- function(x) {
  if (!is.list(x)) return(x)
  kind <- x[[".kind"]]
  if (is.null(kind)) return(lapply(x, untell))
  switch(kind,
    frame = as_frame(x$columns, x$rows),
    series = named_values(x),
    matrix = matrix(as.double(unlist(x$values)), ncol = x$columns),
    lapply(x[setdiff(names(x), ".kind")], untell)
  )
}

as_frame <- function(columns, rows = NULL) {
  columns <- lapply(columns, function(column) {
    if (!length(column)) return(character())
    # cells that are lists themselves stay a column of lists
    if (is.list(column) && any(lengths(column) != 1)) return(I(lapply(column, function(cell) as.character(unlist(cell)))))
    unlist(column)
  })
  out <- structure(columns, class = "data.frame", row.names = seq_len(if (length(columns)) length(columns[[1]]) else 0L))
  if ("relevance" %in% names(out)) out$relevance <- as_relevance(out$relevance)
  out
}

# "fixed" stands outside the order; it is of no class.
as_relevance <- function(x) {
  known <- c("irrelevant", "weak", "strong")
  x[!nzchar(x)] <- NA
  if (any(x == "fixed", na.rm = TRUE)) factor(x, levels = c(known, "fixed")) else
    factor(x, levels = known, ordered = TRUE)
}

named_values <- function(x) stats::setNames(unlist(x$values), as.character(unlist(x$names)))

one_string <- function(x, name) {
  if (!is.character(x) || length(x) != 1 || is.na(x)) {
    relbounds_stop("'", name, "' must be one string.", class = "relbounds_option_error")
  }
  x
}

strings <- function(x, name) {
  if (!is.character(x) || !length(x) || anyNA(x)) {
    relbounds_stop("'", name, "' must be one or more strings.", class = "relbounds_option_error")
  }
  as.list(x)
}

serialized <- function(object) {
  if (is.null(object$serialized)) {
    relbounds_stop("This fit does not carry all that is needed to compute more from it. Fit it again.")
  }
  object$serialized
}
