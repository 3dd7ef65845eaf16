# Relevance where the relation need not be a straight line.

#' Relevance beyond straight lines
#'
#' Strong, weak and irrelevant features by forests: for relations that a line cannot see, such as the product of two
#' features. A feature is *strong* if held-out rows are predicted worse without it, *weak* if others stand in for it, and
#' *irrelevant* if it is not distinguishable from noise. Needs `install_relbounds(extras = "forest")`.
#'
#' @inheritParams relbounds
#' @param formula `response ~ features`; there is no privileged part. An unordered factor with three or more levels,
#'   or text, is a response without an order (family `"nominal"`).
#' @param method `"removal"`: the loss on held-out rows without a feature, without groups of features; or
#'   `"sequential"`: the published method (Boruta, a sparse forest, loss on the training rows) with its defaults.
#' @param family `"auto"`, `"ordinal"`, `"binary"`, `"regression"` or `"nominal"`.
#' @param control,alpha What is promised of the features called relevant: `"fwer"`, `"fdr"` or `"published"`, as in
#'   [relbounds()]; `NULL` is the default of the method.
#' @param probes Number of permuted features that show what noise reaches; `NULL` is 30, or the published 50.
#' @param level Level of the intervals of noise; `NULL` is 0.999, or the published 1 - 1e-6.
#' @param folds,repeats Folds of the cross-validation, and how often it is repeated.
#' @param tolerance A rise in loss below this share of what all features explain counts as none.
#' @param stand_in A feature that the forest uses is strong if the others explain less than this share of it.
#' @param trees Number of trees of each model.
#' @param params Further settings of the trees, a named list such as `list(num_leaves = 15)`.
#' @param seed Seed of folds, trees and probes. The generator is not R's: `set.seed()` has no effect.
#'
#' @return An object of class `relbounds_forest`, a plain list. `table` has one row per feature: `lower` (rise in loss
#'   without the feature) and `upper` (the same when its stand-ins are gone too), as shares of what all features
#'   explain; `importance` and `removal_loss` with what noise reaches; `replaceable` (share of the feature that the
#'   others explain); `p_noise`, `p_adjusted`, `group` and `relevance`. [relevance()], [selected()], [groups()],
#'   [summary()] and [plot()] work as for [relbounds()].
#' @seealso [relbounds()]
#' @examplesIf relbounds::forest_available()
#' data <- data.frame(a = rnorm(200), b = rnorm(200), c = rnorm(200))
#' data$y <- data$a * data$b > 0
#' fit <- forest_relevance(y ~ ., data, probes = 5, repeats = 1)
#' fit
#' selected(fit, "strong")
#' @export
forest_relevance <- function(formula, data = NULL, method = "removal", family = "auto", control = NULL, alpha = 0.05,
                             probes = NULL, level = NULL, folds = 5, repeats = 2, tolerance = 0.01, stand_in = 0.5, trees = 100, params = NULL,
                             weights = NULL, missing = "drop", n_jobs = 1, seed = 0, progress = NULL, subset = NULL,
                             na.action = NULL, ...) {
  call <- match.call()
  check_arguments()
  family <- check_family(family, c("auto", "ordinal", "binary", "regression", "nominal"))
  check_data(data)
  formula <- as_formula(formula, parent.frame())
  frame_call <- frame_call(call, data, missing, !is.null(call$missing), environment(formula), parent.frame())
  design <- relbounds_design(formula, data, frame_call, parent.frame(), family, unordered = TRUE)
  options <- list(
    method = method, control = control, alpha = alpha, probes = probes, level = level, folds = folds, repeats = repeats, tolerance = tolerance,
    stand_in = stand_in, trees = trees, n_jobs = n_jobs, seed = seed
  )
  options <- c(plain_options(options), list(params = forest_params(params), progress = progress_for(progress)))
  sent <- design_for_python(design, if (family == "nominal") family else "auto", TRUE)
  sent$family <- family
  answer <- python_call("forest", sent, options)
  new_forest(answer, remember(design), call)
}

# Settings of the trees by name, as they are called there.
forest_params <- function(params) {
  if (is.null(params)) return(NULL)
  if (!is.list(params) || is.null(names(params)) || any(!nzchar(names(params)))) {
    relbounds_stop("'params' must be a named list, as in list(num_leaves = 15).", class = "relbounds_option_error")
  }
  plain_options(params)
}

new_forest <- function(answer, memory, call) {
  fit <- list(
    table = table_frame(answer$table), family = answer$family, levels = unlist(answer$levels), loss = answer$loss,
    unit = answer$unit,
    intervals = as_frame(answer$intervals), nobs = answer$nobs, n_dropped = length(memory$na.action),
    notes = as.character(unlist(answer$notes)), options = answer$options, header = answer$header,
    smallest_p = answer$smallest_p, call = call
  )
  fit <- c(fit, memory)
  fit$versions <- c(python = answer$version, r = as.character(utils::packageVersion("relbounds")))
  fit$serialized <- answer$serialized
  structure(fit, class = "relbounds_forest")
}

#' @rdname forest_relevance
#' @export
forest_available <- function() {
  relbounds_available() && !anyNA(relbounds_config()$packages[c("lightgbm", "boruta")])
}

#' @export
print.relbounds_forest <- function(x, digits = 3, ...) {
  check_arguments(PRINT_ARGUMENTS)
  print_call(x$call)
  cat("\nRelevance of features by forests, ", x$family, " response, ", x$nobs, " observations (", class_counts(x$table), "):\n",
      sep = "")
  print(forest_table(x$table, digits)[c("Lower", "Upper", "Relevance")], quote = FALSE)
  if (x$n_dropped) cat("\n(", stats::naprint(x$na.action), ")\n", sep = "")
  invisible(x)
}

forest_table <- function(table, digits) {
  data.frame(
    Importance = format(signif(table$importance, digits)), Lower = format_bound(table$lower, digits),
    Upper = format_bound(table$upper, digits), `P>noise` = format_p(table$p_noise), `P adj.` = format_p(table$p_adjusted),
    Group = ifelse(is.na(table$group), "", as.character(table$group)), Relevance = as.character(table$relevance),
    row.names = make.unique(table$feature), check.names = FALSE
  )
}

#' @export
summary.relbounds_forest <- function(object, ...) {
  check_arguments()
  structure(object[c("call", "table", "family", "levels", "loss", "unit", "intervals", "header", "smallest_p", "notes", "options", "nobs",
                     "n_dropped", "na.action")], class = "summary.relbounds_forest")
}

#' @export
print.summary.relbounds_forest <- function(x, digits = 3, ...) {
  check_arguments(PRINT_ARGUMENTS)
  print_call(x$call)
  cat("\nFeatures:\n")
  print(forest_table(x$table, digits), quote = FALSE)
  cat("\n")
  for (line in summary_lines(x)) writeLines(if (nchar(line) > 80) strwrap(line, 80, exdent = 2) else line)
  if (x$n_dropped) cat("(", stats::naprint(x$na.action), ")\n", sep = "")
  print_notes(x$notes)
  invisible(x)
}

#' @export
relevance.relbounds_forest <- function(object, ...) {
  check_arguments()
  object$table
}

#' @export
as.data.frame.relbounds_forest <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  out <- x$table
  rownames(out) <- row.names
  out
}

#' @rdname selected
#' @export
selected.relbounds_forest <- function(object, kind = "relevant", ...) {
  check_arguments()
  chosen_rows(object$table, kind)$term
}

#' @rdname selected
#' @export
selected_formula.relbounds_forest <- function(object, kind = "relevant", ...) {
  check_arguments()
  terms <- unique(chosen_rows(object$table, kind)$term)
  if (!length(terms)) relbounds_stop("No feature is ", kind, " here, so there is no formula to make.")
  expanded_formula(object, terms)
}

#' @rdname groups
#' @export
groups.relbounds_forest <- function(object, ...) {
  check_arguments()
  new_groups(ask(object, "groups"), object)
}

#' @export
nobs.relbounds_forest <- function(object, ...) {
  check_arguments(allow = "use.fallback")
  object$nobs
}

#' @export
formula.relbounds_forest <- function(x, ...) {
  check_arguments()
  x$formula
}

#' @export
terms.relbounds_forest <- function(x, ...) {
  check_arguments()
  x$terms
}

#' @export
model.frame.relbounds_forest <- function(formula, ...) {
  check_arguments()
  formula$model
}

#' @rdname predict.svor
#' @export
predict.relbounds_forest <- function(object, newdata = NULL, type = c("response", "class", "score", "probs", "prob"), ...) {
  check_arguments()
  type <- one_of(type, c("response", "class", "score", "probs", "prob"), "type")
  X <- if (is.null(newdata)) training_matrix(object) else new_matrix(object, newdata)
  out <- predict_rows(object, X, type)
  if (is.null(newdata)) stats::napredict(object$na.action, out) else out
}

# Rows that Python predicts; those with missing values get NA.
predict_rows <- function(object, X, type) {
  form <- switch(type, response = , class = "class", probs = , prob = "prob", type)
  whole <- stats::complete.cases(X)
  sent <- list(values = pack(X[whole, , drop = FALSE]), n = sum(whole))
  found <- untell(python_call("predict_rows", class(object)[1], serialized(object), sent, form))
  if (is.data.frame(found)) {
    out <- matrix(NA_real_, nrow(X), ncol(found), dimnames = list(rownames(X), names(found)))
    out[whole, ] <- as.matrix(found)
    return(out)
  }
  values <- rep(NA, nrow(X))
  values[whole] <- unname(found)
  if (form == "class" && length(object$levels)) {
    return(as_response(object, match(as.character(values), as.character(object$levels)), rownames(X)))
  }
  stats::setNames(values, rownames(X))
}

#' @export
fitted.relbounds_forest <- function(object, ...) {
  check_arguments()
  predict.relbounds_forest(object)
}
