# Relevance where the relation need not be a straight line.

#' Relevance beyond straight lines
#'
#' Strong, weak and irrelevant features by forests: for relations that a line cannot see, such as the product of two
#' features. A feature is *strong* if held-out rows are predicted worse without it, *weak* if others stand in for it, and
#' *irrelevant* if it is of no more use than noise. Needs the Python packages lightgbm and boruta:
#' `install_relbounds(extras = "forest")`.
#'
#' @inheritParams relbounds
#' @param formula `response ~ features`; there is no privileged part. An unordered factor with three or more levels,
#'   or text, is a response without an order (family `"multiclass"`).
#' @param method `"removal"`: the loss on held-out rows without a feature, without groups of features; or
#'   `"sequential"`: the published method (Boruta, a sparse forest, loss on the training rows) with its defaults.
#' @param family `"auto"`, `"ordinal"`, `"binary"`, `"regression"` or `"multiclass"`.
#' @param probes Number of permuted features that show what noise reaches; `NULL` is 30, or the published 50.
#' @param level Level of the intervals of noise; `NULL` is 0.999, or the published 1 - 1e-6.
#' @param folds,repeats Folds of the cross-validation, and how often it is repeated.
#' @param tolerance A rise in loss below this share of what all features explain counts as none.
#' @param stand_in A feature that the forest uses is strong if the others explain less than this share of it.
#' @param trees Number of trees of each model.
#' @param seed Seed of folds, trees and probes. The random numbers are Python's: `set.seed()` has no effect.
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
forest_relevance <- function(formula, data = NULL, method = "removal", family = "auto", probes = NULL, level = NULL,
                             folds = 5, repeats = 2, tolerance = 0.01, stand_in = 0.5, trees = 100, weights = NULL,
                             missing = "drop", n_jobs = 1, seed = 0, progress = NULL, subset = NULL, na.action = NULL,
                             ...) {
  call <- match.call()
  refuse_unknown(list(...), setdiff(names(formals()), "..."))
  check_data(data)
  formula <- as_formula(formula, parent.frame())
  frame_call <- frame_call(call, data, missing, !is.null(call$missing), environment(formula), parent.frame())
  balanced <- identical(frame_call$weights, "balanced")
  if (balanced) frame_call$weights <- NULL
  design <- relbounds_design(formula, data, frame_call, parent.frame(), family, unordered = TRUE)
  options <- list(
    method = method, probes = probes, level = level, folds = folds, repeats = repeats, tolerance = tolerance,
    stand_in = stand_in, trees = trees, n_jobs = n_jobs, seed = seed, progress = progress
  )
  answer <- python_call("forest", design_for_python(design, family, TRUE, balanced), plain_options(options))
  table <- table_frame(answer$table)
  members <- lapply(answer$groups$members, function(m) as.character(unlist(m)))
  structure(
    list(
      table = table, family = answer$family, levels = unlist(answer$levels), loss = answer$loss, unit = answer$unit,
      groups = data.frame(
        group = seq_along(members), members = I(members), removal_loss = as.double(unlist(answer$groups$removal_loss)),
        similarity = as.double(unlist(answer$groups$similarity))
      ),
      intervals = as.data.frame(lapply(answer$intervals, unlist), stringsAsFactors = FALSE), nobs = answer$nobs,
      n_dropped = length(design$na.action), na.action = design$na.action, notes = as.character(unlist(answer$notes)),
      options = answer$options, text = answer$text, formula = design$formula, call = call
    ),
    class = "relbounds_forest"
  )
}

#' @rdname forest_relevance
#' @export
forest_available <- function() {
  relbounds_available() && !anyNA(relbounds_config()$packages[c("lightgbm", "boruta")])
}

#' @export
print.relbounds_forest <- function(x, digits = 3, ...) {
  print_call(x$call)
  table <- x$table
  cat("\nRelevance of features (", class_counts(table), "):\n", sep = "")
  print(data.frame(
    Lower = format_bound(table$lower, digits), Upper = format_bound(table$upper, digits),
    Importance = format(signif(table$importance, digits)), `P>noise` = format_p(table$p_noise),
    Group = ifelse(is.na(table$group), "", as.character(table$group)), Relevance = as.character(table$relevance),
    row.names = make.unique(table$feature), check.names = FALSE
  ), quote = FALSE)
  if (x$n_dropped) cat("\n(", stats::naprint(x$na.action), ")\n", sep = "")
  invisible(x)
}

#' @export
summary.relbounds_forest <- function(object, ...) structure(object["text"], class = "summary.relbounds_forest")

#' @export
print.summary.relbounds_forest <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}

#' @export
relevance.relbounds_forest <- function(object, ...) object$table

#' @export
as.data.frame.relbounds_forest <- function(x, row.names = NULL, optional = FALSE, ...) x$table

#' @export
selected.relbounds_forest <- function(object, kind = c("relevant", "strong", "weak", "irrelevant"), ...) {
  kind <- match.arg(kind)
  wanted <- if (kind == "relevant") c("strong", "weak") else kind
  object$table$feature[object$table$relevance %in% wanted]
}

#' @export
groups.relbounds_forest <- function(object, ...) object$groups

#' @export
plot.relbounds_forest <- function(x, xlab = "Rise in loss (share of what is explained)", main = NULL, ...) {
  table <- x$table
  n <- nrow(table)
  noise <- x$intervals$upper[x$intervals$bound == "removal_loss"] / x$unit
  colour <- class_colours[as.character(table$relevance)]
  cex <- min(1, max(0.4, 30 / n))
  old <- graphics::par(no.readonly = TRUE)
  on.exit(graphics::par(old))
  graphics::plot.new()
  wide <- max(graphics::strwidth(table$feature, units = "inches", cex = cex)) + 0.25
  graphics::par(mai = c(0.85, min(wide, 0.5 * graphics::par("fin")[1]), if (is.null(main)) 0.5 else 0.8, 0.2), xaxs = "i")
  graphics::par(new = TRUE)
  graphics::plot.new()
  graphics::plot.window(xlim = c(0, 1.04 * max(table$upper, noise, 1e-6)), ylim = c(n + 0.6, 0.4), yaxs = "i")
  row <- seq_len(n)
  # a strong feature has no stand-ins, so that both ends are the same: its bar starts at 0
  from <- ifelse(table$relevance == "strong", 0, table$lower)
  graphics::rect(from, row - 0.3, table$upper, row + 0.3, col = colour, border = colour)
  graphics::abline(v = noise, lty = 2, col = "grey25")
  graphics::axis(1)
  graphics::axis(2, at = row, labels = table$feature, las = 1, tick = FALSE, cex.axis = cex, line = -0.7, gap.axis = -1)
  graphics::box(bty = "l")
  graphics::title(xlab = xlab, line = 2.4)
  if (!is.null(main)) graphics::title(main = main)
  known <- names(class_colours)[names(class_colours) %in% table$relevance]
  graphics::legend(
    "top", inset = c(0, -0.32 / graphics::par("pin")[2]), xpd = NA, horiz = TRUE, bty = "n", cex = 0.85,
    legend = c(known, "noise"), fill = c(class_colours[known], NA), border = c(class_colours[known], NA),
    lty = c(rep(NA, length(known)), 2), x.intersp = 0.7
  )
  invisible(table)
}
