# Support vector ordinal regression: levels cut out of one function, linear or with a kernel.

#' Support vector ordinal regression
#'
#' One function of the features and thresholds between the levels: a row is predicted to be of the level between whose
#' thresholds its value lies. The function is linear, or smooth and non-linear with a Gaussian kernel. Two levels give
#' the support vector machine.
#'
#' With privileged features (`| priv(...)`) the slacks of the training rows are smooth functions of those features;
#' without them, `slack = "modelled"` makes them functions of the features themselves, and `slack = "mixed"` mixes such
#' slacks with free ones, which needs fewer support vectors.
#'
#' @inheritParams relbounds
#' @param order `"explicit"`: thresholds kept in order by constraints; `"implicit"`: by letting every row count at every
#'   threshold; `"none"`: not at all (for comparison). `NULL` is `"explicit"` with free slacks, else `"implicit"`.
#' @param balance Let both sides of every threshold weigh the same? `FALSE` is the published model.
#' @param kernel `"rbf"`, that is `exp(-|x - x'|^2 / (2 width^2))`, `"linear"`, or a function of two matrices (rows are
#'   observations, columns the scaled features) that returns the matrix of the kernel's values between their rows.
#' @param C Price of slack. `NULL` searches 0.001 to 1000, coarse then fine, a number fixes it, a vector is the grid.
#' @param width Width of the kernel; as `C`.
#' @param slack `"free"`, `"modelled"` or `"mixed"`; `NULL` is `"modelled"` with privileged features, else `"free"`.
#' @param mix Share of modelled slacks in the mixture; a vector is a grid.
#' @param slack_kernel,slack_width Kernel of the functions that model the slacks, and its width.
#' @param gamma Price of the norm of those functions; a vector is a grid.
#' @param cost Matrix of what it costs to predict the level of a column where that of the row is true; only with
#'   `order = "implicit"`.
#' @param score What cross-validation minimises: `"mmae"`, `"mae"` or `"mze"`.
#' @param solver `"auto"`, `"smo"` (quicker after `install_relbounds(extras = "fast")`) or `"qp"`.
#' @param tol How far the optimality conditions may be violated, in units of the margin.
#' @param seed Seed of the folds. The generator is not R's: `set.seed()` has no effect.
#'
#' @return An object of class `svor`, a plain list that [saveRDS()] keeps whole: `thresholds`, `coefficients` (of the
#'   support vectors), `support` (counts by level), `dual_objective`, `violation` (of the optimality conditions),
#'   `scores` (of the grid) and what [predict()] needs. `predict()` works in R alone.
#' @seealso [relbounds()], [predict.svor()], [plot()][relbounds-figures]
#' @examplesIf relbounds::relbounds_available()
#' fit <- svor(severity ~ age + bmi + crp, data = severity, C = 1, width = 2)
#' fit
#' table(predict(fit), severity$severity)
#' @export
svor <- function(formula, data = NULL, order = NULL, balance = TRUE, kernel = "rbf", C = NULL, width = NULL, slack = NULL,
                 mix = 0.5, slack_kernel = "rbf", slack_width = NULL, gamma = 1, cost = NULL, weights = NULL,
                 score = "mmae", cv = 5, solver = "auto", tol = 1e-3, standardize = TRUE, missing = "drop",
                 n_jobs = 1, seed = 0, progress = NULL, subset = NULL, na.action = NULL, ...) {
  call <- match.call()
  check_arguments()
  check_data(data)
  kernels <- list(kernel = kernel_for(kernel, "kernel"), slack_kernel = kernel_for(slack_kernel, "slack_kernel"))
  formula <- as_formula(formula, parent.frame())
  frame_call <- frame_call(call, data, missing, !is.null(call$missing), environment(formula), parent.frame())
  design <- relbounds_design(formula, data, frame_call, parent.frame(), "ordinal")
  if (!is.null(cost)) cost <- as.double(as.matrix(cost))
  options <- list(
    order = order, balance = balance, C = C, width = width, slack = slack, mix = mix, slack_width = slack_width, gamma = gamma, cost = cost, score = score, cv = cv, solver = solver, tol = tol,
    n_jobs = n_jobs, seed = seed
  )
  options <- c(plain_options(options), kernels, list(progress = progress_for(progress)))
  answer <- python_call("svor", design_for_python(design, "ordinal", standardize), options)
  fit <- new_svor(answer, remember(design), call)
  fit$kernel_function <- if (is.function(kernel)) kernel
  fit
}

# A name, or a function of two matrices: a row of the result for each row of the first, a column for each of the second.
kernel_for <- function(kernel, name) {
  if (is.character(kernel) && length(kernel) == 1) return(one_of(kernel, c("rbf", "linear"), name))
  if (!is.function(kernel)) {
    relbounds_stop("'", name, "' must be \"rbf\", \"linear\", or a function of two matrices.", class = "relbounds_option_error")
  }
  # matrices cross as bytes, so that the two sides need not agree on a version of NumPy
  unpack <- function(bytes, rows) matrix(readBin(as.raw(bytes), "double", length(bytes) %/% 8L), nrow = rows)
  function(a, rows_a, b, rows_b) pack(kernel(unpack(a, rows_a), unpack(b, rows_b)))
}

# Python's answer and R's memory, as one plain list.
new_svor <- function(answer, memory, call) {
  names <- as.character(unlist(answer$names))
  levels <- unlist(answer$levels)
  coefficients <- as.double(unlist(answer$coefficients))
  vectors <- readBin(as.raw(answer$vectors), "double", length(coefficients) * length(names))
  fit <- list(
    levels = levels,
    thresholds = stats::setNames(as.double(unlist(answer$thresholds)), threshold_names(answer)),
    kernel = answer$kernel, width = answer$width,
    vectors = matrix(vectors, length(coefficients), length(names), dimnames = list(NULL, names)),
    coefficients = coefficients,
    center = stats::setNames(as.double(unlist(answer$center)), names),
    scale = stats::setNames(as.double(unlist(answer$scale)), names),
    support = as_frame(answer$support),
    supporting = as.integer(unlist(answer$supporting)),
    C = answer$C, gamma = answer$gamma, mix = answer$mix, slack = answer$slack, order = answer$order,
    solver = answer$solver, dual_objective = answer$dual_objective, violation = answer$violation,
    scores = as_frame(answer$scores),
    training = unlist(answer$training), cv_score = answer$cv_score, metric = answer$metric, nobs = answer$nobs,
    n_dropped = length(memory$na.action), notes = as.character(unlist(answer$notes)), sent = unlist(answer$sent),
    header = answer$header[!grepl("^Threshold ", names(answer$header))], call = call
  )
  fit <- c(fit, memory)
  fit$versions <- c(python = answer$version, r = as.character(utils::packageVersion("relbounds")))
  fit$serialized <- answer$serialized
  structure(fit, class = "svor")
}

#' Predict by a kernel fit or a forest
#'
#' Levels and scores of kernel fits are computed in R alone. Privileged features are never needed.
#'
#' @param object A fit of [svor()] or [forest_relevance()].
#' @param newdata A data frame with the features; the training rows if left out. A row with a missing value gets `NA`.
#' @param type `"response"` or `"class"`: the predicted level; `"score"`: the value that the thresholds cut;
#'   `"probs"` (or `"prob"`): probabilities of the levels.
#' @param ... Not used; an unknown argument is an error.
#' @return A factor as the response was (numbers or logicals where the response was), or a named vector of scores.
#' @examplesIf relbounds::relbounds_available()
#' fit <- svor(severity ~ age + bmi + crp, data = severity, C = 1, width = 2)
#' predict(fit, head(severity))
#' predict(fit, head(severity), type = "score")
#' @export
predict.svor <- function(object, newdata = NULL, type = c("response", "class", "score", "probs", "prob"), ...) {
  check_arguments()
  type <- one_of(type, c("response", "class", "score", "probs", "prob"), "type")
  training <- is.null(newdata)
  X <- if (training) training_matrix(object) else new_matrix(object, newdata)
  if (type %in% c("probs", "prob")) {
    out <- predict_rows(object, X, type)
    return(if (training) stats::napredict(object$na.action, out) else out)
  }
  X <- used_columns(object, X)
  score <- svor_score(object, sweep(sweep(X, 2, object$center), 2, object$scale, "/"))
  out <- if (type == "score") score else svor_level(object, score)
  if (training) stats::napredict(object$na.action, out) else out
}

# f at rows that are scaled already.
svor_score <- function(object, X) {
  K <- if (is.null(object$kernel_function)) X %*% t(object$vectors) else {
    # rows with missing values stay missing, whatever the function does with them
    whole <- stats::complete.cases(X)
    out <- matrix(NA_real_, nrow(X), nrow(object$vectors))
    if (any(whole)) out[whole, ] <- as.matrix(object$kernel_function(X[whole, , drop = FALSE], object$vectors))
    out
  }
  if (object$kernel == "rbf") {
    square <- outer(rowSums(X^2), rowSums(object$vectors^2), "+") - 2 * K
    K <- exp(-pmax(square, 0) / (2 * object$width^2))
    dim(K) <- c(nrow(X), nrow(object$vectors))
  }
  stats::setNames(drop(K %*% object$coefficients), rownames(X))
}

svor_level <- function(object, score) {
  code <- rep(1L, length(score))
  for (b in object$thresholds) code <- code + (score >= b)
  as_response(object, code, names(score))
}

#' @export
print.svor <- function(x, digits = 4, ...) {
  check_arguments(PRINT_ARGUMENTS)
  print_call(x$call)
  cat("\nSupport vector ordinal regression, ", x$kernel, " kernel",
      if (x$kernel == "rbf") paste0(" of width ", signif(x$width, digits)), ", C = ", signif(x$C, digits), ", ", x$order,
      " order, ", x$slack, " slacks\n", sep = "")
  cat("\nThresholds:\n")
  print(x$thresholds, digits = digits)
  cat("\n", length(x$supporting), " of ", x$nobs, " rows are support vectors; ", toupper(x$metric), " ",
      format_bound(x$training[[x$metric]]), " (training)",
      if (!is.null(x$cv_score)) paste0(", ", format_bound(x$cv_score), " (cross-validated)"), "\n", sep = "")
  if (x$n_dropped) cat("(", stats::naprint(x$na.action), ")\n", sep = "")
  invisible(x)
}

#' @export
summary.svor <- function(object, ...) {
  check_arguments()
  structure(object[c("call", "thresholds", "support", "dual_objective", "violation", "kernel", "width", "C", "gamma", "mix",
                     "slack", "order", "solver", "training", "cv_score", "metric", "nobs", "levels", "notes", "header", "n_dropped",
                     "na.action")], class = "summary.svor")
}

#' @export
print.summary.svor <- function(x, digits = 3, ...) {
  check_arguments(PRINT_ARGUMENTS)
  print_call(x$call)
  cat("\nLevels:\n")
  print(format_numbers(x$support, digits), row.names = FALSE)
  cat("\nThresholds:\n")
  print(x$thresholds, digits = digits + 1)
  cat("\n")
  for (line in summary_lines(x)) writeLines(if (nchar(line) > 80) strwrap(line, 80, exdent = 2) else line)
  if (x$n_dropped) cat("(", stats::naprint(x$na.action), ")\n", sep = "")
  print_notes(x$notes)
  invisible(x)
}

#' @export
fitted.svor <- function(object, ...) {
  check_arguments()
  predict.svor(object)
}

#' @export
residuals.svor <- function(object, ...) {
  check_arguments()
  at <- function(v) match(as.character(v), as.character(object$levels))
  guess <- used_columns(object, training_matrix(object))
  guess <- svor_level(object, svor_score(object, sweep(sweep(guess, 2, object$center), 2, object$scale, "/")))
  stats::naresid(object$na.action, stats::setNames(at(stats::model.response(object$model)) - at(guess), row.names(object$model)))
}

#' @export
nobs.svor <- function(object, ...) {
  check_arguments(allow = "use.fallback")
  object$nobs
}

#' @export
formula.svor <- function(x, ...) {
  check_arguments()
  x$formula
}

#' @export
terms.svor <- function(x, ...) {
  check_arguments()
  x$terms
}

#' @export
model.frame.svor <- function(formula, ...) {
  check_arguments()
  formula$model
}

#' @export
model.matrix.svor <- function(object, ...) {
  check_arguments(allow = "data")
  used_columns(object, training_matrix(object))
}

#' @export
logLik.svor <- function(object, ...) no_likelihood("logLik()", "Compare fits by their cross-validated scores, fit$scores.")

#' @export
vcov.svor <- function(object, ...) no_likelihood("vcov()", "Kernel machines have support vectors instead of coefficients.")

#' @export
anova.svor <- function(object, ...) no_likelihood("anova()", "Compare fits by their cross-validated scores, fit$scores.")

#' @export
as.data.frame.svor <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  x$support
}

#' @rdname relbounds-figures
#' @exportS3Method ggplot2::autoplot
autoplot.svor <- function(object, features = NULL, resolution = 150, legend = TRUE, title = NULL, ...) {
  check_arguments()
  features <- two_features(object, features)
  columns <- names(object$center)
  raw <- used_columns(object, training_matrix(object))
  along <- lapply(features, function(f) {
    ends <- range(raw[, f])
    seq(ends[1] - 0.06 * diff(ends), ends[2] + 0.06 * diff(ends), length.out = resolution)
  })
  grid <- matrix(rep(colMeans(raw), each = resolution^2), ncol = length(columns), dimnames = list(NULL, columns))
  grid[, features] <- as.matrix(expand.grid(along[[1]], along[[2]]))
  score <- svor_score(object, sweep(sweep(grid, 2, object$center), 2, object$scale, "/"))
  names <- as.character(object$levels)
  code <- rep(1L, length(score))
  for (b in object$thresholds) code <- code + (score >= b)
  drawn <- data.frame(x = grid[, features[1]], y = grid[, features[2]], score = score,
                      level = factor(names[code], levels = names))
  observed <- factor(as.character(stats::model.response(object$model)), levels = names)
  rows <- data.frame(x = raw[, features[1]], y = raw[, features[2]], level = observed,
                     kind = seq_len(nrow(raw)) %in% object$supporting)
  svor_figure(drawn, rows, object$thresholds, features, legend, title)
}

two_features <- function(object, features) {
  columns <- names(object$center)
  if (is.null(features)) {
    if (length(columns) != 2) {
      relbounds_stop("The fit has ", length(columns), " feature columns; a map needs two. Say which with 'features'.",
                     class = "relbounds_option_error")
    }
    return(columns)
  }
  unknown <- setdiff(features, columns)
  if (length(unknown)) {
    relbounds_stop("There is no feature ", quote_names(unknown[1]), " in the fit.", nearest(unknown[1], columns),
                   class = "relbounds_option_error")
  }
  if (length(unique(features)) != 2) {
    relbounds_stop("'features' must be two different names.", class = "relbounds_option_error")
  }
  features
}

svor_figure <- function(drawn, rows, thresholds, features, legend, title) {
  names <- levels(drawn$level)
  colours <- stats::setNames(level_colours(length(names)), names)
  shapes <- stats::setNames(rep(c(21, 22, 24, 23, 25), length.out = length(names)), names)
  inside <- thresholds[is.finite(thresholds) & thresholds > min(drawn$score) & thresholds < max(drawn$score)]
  p <- ggplot2::ggplot() +
    ggplot2::geom_raster(data = drawn, ggplot2::aes(x = x, y = y, fill = level), alpha = 0.3)
  if (length(inside)) {
    p <- p + ggplot2::geom_contour(data = drawn, ggplot2::aes(x = x, y = y, z = score), breaks = unique(inside), colour = INK,
                                   linewidth = 0.3)
  }
  # rings of support vectors first, so that the points stay on top
  p + ggplot2::geom_point(data = rows[rows$kind, ], ggplot2::aes(x = x, y = y, size = "support vector"), shape = 1, colour = INK,
                          stroke = 0.4) +
    ggplot2::geom_point(data = rows, ggplot2::aes(x = x, y = y, fill = level, shape = level), size = 1.5, stroke = 0.25, colour = INK) +
    ggplot2::scale_fill_manual(values = colours, drop = FALSE) + ggplot2::scale_shape_manual(values = shapes, drop = FALSE) +
    ggplot2::scale_size_manual(values = c("support vector" = 3)) +
    ggplot2::scale_x_continuous(expand = ggplot2::expansion(0)) + ggplot2::scale_y_continuous(expand = ggplot2::expansion(0)) +
    ggplot2::guides(size = ggplot2::guide_legend(order = 2)) +
    ggplot2::labs(x = features[1], y = features[2], title = title) + figure_theme() +
    ggplot2::theme(legend.position = if (legend) "bottom" else "none")
}

#' @rdname relbounds-figures
#' @export
plot.svor <- function(x, ...) show_figure(autoplot.svor(x, ...))
