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
#' @param kernel `"rbf"`, that is `exp(-|x - x'|^2 / (2 width^2))`, or `"linear"`.
#' @param C Price of slack. `NULL` searches 0.001 to 1000, coarse then fine, a number fixes it, a vector is the grid.
#' @param width Width of the kernel; as `C`.
#' @param slack `"free"`, `"modelled"` or `"mixed"`; `NULL` is `"modelled"` with privileged features, else `"free"`.
#' @param mix Share of modelled slacks in the mixture; a vector is a grid.
#' @param slack_kernel,slack_width Kernel of the functions that model the slacks, and its width.
#' @param gamma Price of the norm of those functions; a vector is a grid.
#' @param cost Matrix of what it costs to predict the level of a column where that of the row is true; only with
#'   `order = "implicit"`.
#' @param score What cross-validation minimises: `"mmae"`, `"mae"` or `"mze"`.
#' @param solver `"auto"`, `"smo"` (needs the Python package numba) or `"qp"`.
#' @param tol How far the optimality conditions may be violated, in units of the margin.
#' @param seed Seed of the folds. The random numbers are Python's: `set.seed()` has no effect.
#'
#' @return An object of class `svor`, a plain list that [saveRDS()] keeps whole: `thresholds`, `coefficients` (of the
#'   support vectors), `support` (counts by level), `dual_objective`, `violation` (of the optimality conditions),
#'   `scores` (of the grid) and what [predict()] needs. `predict()` works in R alone.
#' @seealso [relbounds()], [predict.svor()], [plot.svor()]
#' @examplesIf relbounds::relbounds_available()
#' fit <- svor(severity ~ age + bmi + crp, data = severity, C = 1, width = 2)
#' fit
#' table(predict(fit), severity$severity)
#' @export
svor <- function(formula, data = NULL, order = NULL, kernel = "rbf", C = NULL, width = NULL, slack = NULL,
                 mix = 0.5, slack_kernel = "rbf", slack_width = NULL, gamma = 1, cost = NULL, weights = NULL,
                 score = "mmae", cv = 5, solver = "auto", tol = 1e-3, standardize = TRUE, missing = "drop",
                 n_jobs = 1, seed = 0, progress = NULL, subset = NULL, na.action = NULL, ...) {
  call <- match.call()
  refuse_unknown(list(...), setdiff(names(formals()), "..."))
  check_data(data)
  for (name in c("kernel", "slack_kernel")) {
    if (!is.character(get(name)) || length(get(name)) != 1) {
      relbounds_stop("'", name, "' must be \"rbf\" or \"linear\".", class = "relbounds_option_error")
    }
  }
  formula <- as_formula(formula, parent.frame())
  frame_call <- frame_call(call, data, missing, !is.null(call$missing), environment(formula), parent.frame())
  balanced <- identical(frame_call$weights, "balanced")
  if (balanced) frame_call$weights <- NULL
  design <- relbounds_design(formula, data, frame_call, parent.frame(), "ordinal")
  if (!is.null(cost)) cost <- as.double(as.matrix(cost))
  options <- list(
    order = order, kernel = kernel, C = C, width = width, slack = slack, mix = mix, slack_kernel = slack_kernel,
    slack_width = slack_width, gamma = gamma, cost = cost, score = score, cv = cv, solver = solver, tol = tol,
    n_jobs = n_jobs, seed = seed, progress = progress
  )
  answer <- python_call("svor", design_for_python(design, "ordinal", standardize, balanced), plain_options(options))
  new_svor(answer, remember(design), call)
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
    support = as.data.frame(lapply(answer$support, unlist), stringsAsFactors = FALSE),
    supporting = as.integer(unlist(answer$supporting)),
    C = answer$C, gamma = answer$gamma, mix = answer$mix, slack = answer$slack, order = answer$order,
    solver = answer$solver, dual_objective = answer$dual_objective, violation = answer$violation,
    scores = as.data.frame(lapply(answer$scores, unlist), stringsAsFactors = FALSE),
    training = unlist(answer$training), cv_score = answer$cv_score, metric = answer$metric, nobs = answer$nobs,
    n_dropped = length(memory$na.action), notes = as.character(unlist(answer$notes)), text = answer$text, call = call
  )
  fit <- c(fit, memory)
  fit$versions <- c(python = answer$version, r = as.character(utils::packageVersion("relbounds")))
  fit$serialized <- answer$serialized
  structure(fit, class = "svor")
}

#' Predict levels by a kernel fit
#'
#' Prediction is done in R alone: Python is not needed, nor are privileged features.
#'
#' @param object A fit of [svor()].
#' @param newdata A data frame with the features; the training rows if left out. A row with a missing value gets `NA`.
#' @param type `"response"` or `"class"`: the predicted level; `"score"`: the value that the thresholds cut.
#' @param ... Not used.
#' @return A factor as the response was (numbers or logicals where the response was), or a named vector of scores.
#' @examplesIf relbounds::relbounds_available()
#' fit <- svor(severity ~ age + bmi + crp, data = severity, C = 1, width = 2)
#' predict(fit, head(severity))
#' predict(fit, head(severity), type = "score")
#' @export
predict.svor <- function(object, newdata, type = c("response", "class", "score"), ...) {
  type <- tryCatch(match.arg(type), error = function(e) {
    relbounds_stop("type must be \"response\", \"class\" or \"score\".", class = "relbounds_option_error")
  })
  training <- missing(newdata) || is.null(newdata)
  X <- if (training) training_matrix(object) else new_matrix(object, newdata)
  score <- svor_score(object, sweep(sweep(X[, names(object$center), drop = FALSE], 2, object$center), 2, object$scale, "/"))
  out <- if (type == "score") score else svor_level(object, score)
  if (training) stats::napredict(object$na.action, out) else out
}

# f at rows that are scaled already.
svor_score <- function(object, X) {
  K <- X %*% t(object$vectors)
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
  labels <- object$levels[code]
  out <- switch(object$response$type,
    factor = factor(labels, levels = object$response$all_levels, ordered = object$response$ordered),
    logical = as.logical(labels),
    if (is.numeric(object$levels)) as.numeric(labels) else labels
  )
  stats::setNames(out, names(score))
}

#' @export
print.svor <- function(x, digits = 4, ...) {
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
  structure(object[c("call", "thresholds", "support", "dual_objective", "violation", "text", "n_dropped", "na.action")],
            class = "summary.svor")
}

#' @export
print.summary.svor <- function(x, ...) {
  print_call(x$call)
  cat("\n", x$text, "\n", sep = "")
  if (x$n_dropped) cat("(", stats::naprint(x$na.action), ")\n", sep = "")
  invisible(x)
}

#' @export
fitted.svor <- function(object, ...) predict.svor(object)

#' @export
nobs.svor <- function(object, ...) object$nobs

#' @export
formula.svor <- function(x, ...) x$formula

#' Plot a kernel fit over two features
#'
#' The levels predicted over two features, the thresholds between them as lines, and the training rows; support vectors
#' are ringed. Other features are held at their mean.
#'
#' @param x A fit of [svor()].
#' @param features Names of two columns; needed when the fit has more than two.
#' @param resolution Points of the grid along each side.
#' @param xlab,ylab,main As in [plot()].
#' @param legend Show a legend?
#' @param ... Not used.
#' @return The grid that was drawn, invisibly: a list with `x`, `y` and `score`.
#' @examplesIf relbounds::relbounds_available()
#' fit <- svor(severity ~ age + bmi, data = severity, C = 1, width = 1)
#' plot(fit)
#' @export
plot.svor <- function(x, features = NULL, resolution = 150, xlab = NULL, ylab = NULL, main = NULL, legend = TRUE, ...) {
  columns <- names(x$center)
  if (is.null(features)) {
    if (length(columns) != 2) {
      relbounds_stop("The fit has ", length(columns), " feature columns; a contour needs two. Say which with 'features'.",
                     class = "relbounds_option_error")
    }
    features <- columns
  }
  unknown <- setdiff(features, columns)
  if (length(unknown)) {
    relbounds_stop("There is no feature ", quote_names(unknown[1]), " in the fit.", nearest(unknown[1], columns),
                   class = "relbounds_option_error")
  }
  if (length(unique(features)) != 2) {
    relbounds_stop("'features' must be two different names.", class = "relbounds_option_error")
  }
  raw <- training_matrix(x)[, columns, drop = FALSE]
  along <- lapply(features, function(f) {
    ends <- range(raw[, f])
    seq(ends[1] - 0.06 * diff(ends), ends[2] + 0.06 * diff(ends), length.out = resolution)
  })
  grid <- matrix(rep(colMeans(raw), each = resolution^2), ncol = length(columns), dimnames = list(NULL, columns))
  grid[, features] <- as.matrix(expand.grid(along[[1]], along[[2]]))
  score <- matrix(svor_score(x, sweep(sweep(grid, 2, x$center), 2, x$scale, "/")), resolution)
  k <- length(x$levels)
  fill <- grDevices::hcl.colors(k, "Blues 2", rev = TRUE, alpha = 0.5)
  # Okabe and Ito, told apart by colour-blind readers; shapes tell the same once more.
  colour <- rep(c("#D55E00", "#009E73", "#CC79A7", "#0072B2", "#E69F00", "#000000", "#56B4E9"), length.out = k)
  shape <- rep(c(16, 15, 17, 18, 3, 4, 8), length.out = k)
  old <- graphics::par(no.readonly = TRUE)
  on.exit(graphics::par(old))
  if (legend) graphics::par(mar = graphics::par("mar") + c(0, 0, 0, 6))
  limits <- c(-Inf, x$thresholds, Inf)
  graphics::image(along[[1]], along[[2]], score, breaks = cut_points(limits, score), col = fill,
                  xlab = if (is.null(xlab)) features[1] else xlab, ylab = if (is.null(ylab)) features[2] else ylab, main = main)
  inside <- unique(x$thresholds[is.finite(x$thresholds)])
  inside <- inside[inside > min(score) & inside < max(score)]
  if (length(inside)) {
    graphics::contour(along[[1]], along[[2]], score, levels = inside, labels = format(round(inside, 2)), add = TRUE,
                      col = "grey25")
  }
  observed <- stats::model.response(x$model)
  code <- match(as.character(observed), as.character(x$levels))
  graphics::points(raw[, features], pch = shape[code], col = colour[code], cex = 0.8)
  graphics::points(raw[x$supporting, features, drop = FALSE], pch = 1, col = "grey20", cex = 1.5, lwd = 0.6)
  if (legend) {
    graphics::legend(graphics::par("usr")[2], graphics::par("usr")[4], xpd = NA, bty = "n", cex = 0.85,
                     legend = c(as.character(x$levels), "support vector"), pch = c(shape, 1), col = c(colour, "grey20"))
  }
  invisible(list(x = along[[1]], y = along[[2]], score = score))
}

# image() wants growing finite breaks; equal thresholds (an empty level) are a hair apart.
cut_points <- function(limits, score) {
  limits[limits == -Inf] <- min(score, limits[is.finite(limits)]) - 1
  limits[limits == Inf] <- max(score, limits[is.finite(limits)]) + 1
  limits + seq_along(limits) * 1e-9 * diff(range(limits))
}
