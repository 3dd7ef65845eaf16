# Questions beyond the table. Each needs Python, which gets back the fit that the R object carries.

#' What if a feature is used less, more, or not at all?
#'
#' Recomputes every interval among the equally good models that obey the constraints.
#'
#' @param object A fit of [relbounds()], or the result of an earlier `constrain()`.
#' @param ... Named constraints, in the units of the table: a number (`bmi = 0`), a pair (`age = c(0, 0.1)`), or
#'   `"off"`, `"min"`, `"max"`. The name of a term stands for all its columns. One named list works as well.
#' @return A fit of class `relbounds`, whose print-out shows the constraints.
#' @seealso [substitutes()], [choose_features()]
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, probes = 10)
#' constrain(fit, crp = "off")
#' @export
constrain <- function(object, ...) UseMethod("constrain")

#' @rdname constrain
#' @export
constrain.relbounds <- function(object, ...) {
  wishes <- list(...)
  if (length(wishes) == 1 && is.null(names(wishes)) && is.list(wishes[[1]])) wishes <- wishes[[1]]
  if (!length(wishes) || is.null(names(wishes)) || any(!nzchar(names(wishes)))) {
    relbounds_stop("Name the features to constrain, as in constrain(fit, bmi = 0, age = c(0, 0.1), crp = \"off\").",
                   class = "relbounds_option_error")
  }
  wishes <- lapply(plain_options(wishes), function(w) if (length(w) > 1) as.list(w) else w)
  what_if(object, python_call("constrain", serialized(object), wishes))
}

# A what-if is a fit with the memory of the fit it came from.
what_if <- function(object, answer) {
  memory <- object[c("formula", "terms", "privileged_terms", "xlevels", "data_columns", "na.action", "weights",
                     "contrasts", "response", "response_name", "model")]
  new_relbounds(answer, memory, object$call)
}

#' Which features take over when one is switched off?
#'
#' @param object A fit of [relbounds()].
#' @param feature Name of a weakly relevant feature or term; a strong one has no substitute, which is an error.
#' @param ... Passed on to methods.
#' @return A data frame, best substitute first: bounds as they are (`lower`, `upper`), without `feature` (`lower_off`,
#'   `upper_off`), and with `feature` half used (`upper_half`; `overlap` is 1 for a copy of
#'   `feature`, 0 for one that has nothing to do with it); `role` is `"replaces"` where a feature
#'   becomes strong without `feature`, `"shares"` where it carries the same information together with others.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + platelets + crp + esr, data = severity, C = 0.1, probes = 10)
#' substitutes(fit, "crp")
#' @export
substitutes <- function(object, ...) UseMethod("substitutes")

#' @rdname substitutes
#' @export
substitutes.relbounds <- function(object, feature, ...) {
  as_frame(python_call("substitutes", serialized(object), one_string(feature, "feature")))
}

one_string <- function(x, name) {
  if (!is.character(x) || length(x) != 1) relbounds_stop("'", name, "' must be one string.", class = "relbounds_option_error")
  x
}

as_frame <- function(columns) {
  columns <- lapply(columns, function(column) if (length(column)) unlist(column) else character())
  as.data.frame(columns, stringsAsFactors = FALSE, check.names = FALSE)
}

named_values <- function(x) stats::setNames(unlist(x$values), as.character(unlist(x$names)))

#' Groups of features that stand in for each other
#'
#' Features are close if holding one of them at its least or most moves the bounds of the others in the same way.
#'
#' @param object A fit of [relbounds()].
#' @param cut Where to cut the tree, as a fraction of its tallest link.
#' @param k Wanted number of groups, instead of `cut`.
#' @param part `"regular"` or `"privileged"`.
#' @param by_class Let the classes speak too? Then a strong feature, which has no stand-in, is a group of its own, and
#'   irrelevant features are one group. `FALSE` asks the tree alone; so does `k`.
#' @param x Groups, from `groups()`.
#' @param ... Passed to [stats::plot.hclust()].
#' @return A list of class `relbounds_groups`: `labels` (named group numbers), `tree` (an [hclust] object), `distance`
#'   (matrix) and `height` (where the tree was cut).
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, probes = 10)
#' groups(fit)
#' plot(groups(fit))
#' @export
groups <- function(object, ...) UseMethod("groups")

#' @rdname groups
#' @export
groups.relbounds <- function(object, cut = NULL, k = NULL, part = c("regular", "privileged"), by_class = TRUE, ...) {
  answer <- python_call("groups", serialized(object), cut, k, match.arg(part), by_class)
  labels <- named_values(answer$labels)
  distance <- as.matrix(as_frame(answer$distance))
  rownames(distance) <- colnames(distance)
  out <- list(labels = labels, tree = as_hclust(answer$linkage, names(labels)), distance = distance,
              height = answer$height, table = object$table)
  structure(out, class = "relbounds_groups")
}

# The tree of scipy (clusters numbered from n on) as that of R (single features negative, merges counted from 1).
as_hclust <- function(linkage, labels) {
  n <- length(labels)
  links <- matrix(unlist(linkage), ncol = 4, byrow = TRUE)
  id <- links[, 1:2, drop = FALSE]
  merge <- matrix(as.integer(ifelse(id < n, -(id + 1), id - n + 1)), ncol = 2)
  members <- list()
  for (i in seq_len(nrow(merge))) {
    members[[i]] <- unlist(lapply(merge[i, ], function(m) if (m < 0) -m else members[[m]]))
  }
  structure(list(merge = merge, height = links[, 3], order = members[[nrow(merge)]], labels = labels,
                 method = "single", dist.method = "context"), class = "hclust")
}

#' @export
print.relbounds_groups <- function(x, ...) {
  cat(max(x$labels), " groups of ", length(x$labels), " features (cut at ", signif(x$height, 3), ")\n", sep = "")
  for (g in sort(unique(x$labels))) {
    writeLines(strwrap(paste0(g, ": ", paste(names(x$labels)[x$labels == g], collapse = ", ")), 80, indent = 2, exdent = 5))
  }
  invisible(x)
}

#' @rdname groups
#' @export
plot.relbounds_groups <- function(x, ...) {
  tree <- x$tree
  # the number of the group after each name: classes count too, so a line across the tree does not tell them all
  tree$labels <- paste0(tree$labels, " (", x$labels[tree$labels], ")")
  old <- graphics::par(mar = c(1, 4.2, 0.6, 0.6))
  on.exit(graphics::par(old))
  args <- utils::modifyList(list(tree, main = "", sub = "", xlab = "", ylab = "Distance of contexts", hang = -1), list(...))
  do.call(graphics::plot, args)
  graphics::abline(h = x$height, lty = 2, col = "grey25")
  invisible(x)
}

#' How do bounds and classes depend on the tolerance?
#'
#' @param object A fit of [relbounds()].
#' @param delta Tolerances: numbers, `"1se"`, `"2se"`; a sensible range by default.
#' @param probes Number of probes at each; that of the fit by default.
#' @param x A sweep, from `sweep_delta()`.
#' @param ... Passed on to methods.
#' @return A list of class `relbounds_sweep`: `table` (one row per tolerance and feature), `changes` (where a class
#'   changes), `strong_until` (the tolerance up to which a feature is strong), `noise` (what noise reaches).
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, probes = 10)
#' sweep_delta(fit, c(0.001, 0.01, 0.1))
#' @export
sweep_delta <- function(object, ...) UseMethod("sweep_delta")

#' @rdname sweep_delta
#' @export
sweep_delta.relbounds <- function(object, delta = NULL, probes = NULL, ...) {
  answer <- python_call("sweep", serialized(object), if (!is.null(delta)) as.list(delta), probes)
  structure(list(
    deltas = unlist(answer$deltas), table = as_frame(answer$table), noise = as_frame(answer$noise),
    changes = as_frame(answer$changes), strong_until = named_values(answer$strong_until), delta = answer$delta
  ), class = "relbounds_sweep")
}

#' @export
print.relbounds_sweep <- function(x, ...) {
  cat("Sweep over ", length(x$deltas), " tolerances, ", signif(min(x$deltas), 3), " to ", signif(max(x$deltas), 3), "\n", sep = "")
  wide <- vapply(x$deltas, function(d) x$table$relevance[x$table$delta == d], character(length(x$strong_until)))
  dimnames(wide) <- list(names(x$strong_until), signif(x$deltas, 2))
  print(as.data.frame(wide), quote = FALSE)
  invisible(x)
}

#' @rdname sweep_delta
#' @export
plot.relbounds_sweep <- function(x, ...) {
  features <- names(x$strong_until)
  pick <- function(column) vapply(features, function(f) x$table[[column]][x$table$feature == f], numeric(length(x$deltas)))
  lower <- matrix(pick("lower"), ncol = length(features))
  upper <- matrix(pick("upper"), ncol = length(features))
  last <- x$table[x$table$delta == x$delta | x$table$delta == max(x$deltas), ]
  colour <- grDevices::hcl.colors(length(features), "Dark 3")
  old <- graphics::par(mar = c(4.2, 4.2, 0.6, 8))
  on.exit(graphics::par(old))
  graphics::matplot(x$deltas, upper, type = "l", lty = 1, lwd = 2, col = colour, log = "x", ylim = c(0, max(upper)),
                    xlab = "delta", ylab = "Relevance", bty = "l", ...)
  graphics::matlines(x$deltas, lower, lty = 3, lwd = 2, col = colour)
  if (x$delta >= min(x$deltas) && x$delta <= max(x$deltas)) graphics::abline(v = x$delta, lty = 2, col = "grey25")
  graphics::legend(grDevices::extendrange(x$deltas)[2], max(upper), legend = features, col = colour, lwd = 2, bty = "n",
                   xpd = NA, cex = 0.85, title = "solid: upper\ndotted: lower", title.adj = 0, inset = 0)
  invisible(x)
}

#' How stable are the classes?
#'
#' Repeats the fit on subsamples of the rows and counts how often each feature falls into each class.
#'
#' @param object A fit of [relbounds()].
#' @param n_resamples Number of subsamples.
#' @param fraction Share of rows in each.
#' @param probes,n_jobs,seed Those of the fit by default.
#' @param x From `stability()`.
#' @param ... Passed on to methods.
#' @return A list of class `relbounds_stability`: `frequencies` (share of each class for each feature), `table` (the
#'   table of the fit with a column `stability`), `draws` (every repetition), `n_resamples`, `failed`, `fraction`.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + sodium, data = severity, C = 0.1, probes = 10)
#' stability(fit, n_resamples = 3)
#' @export
stability <- function(object, ...) UseMethod("stability")

#' @rdname stability
#' @export
stability.relbounds <- function(object, n_resamples = 50, fraction = 0.8, probes = NULL, n_jobs = NULL, seed = NULL, ...) {
  options <- list(fraction = fraction, probes = probes, n_jobs = n_jobs, seed = seed)
  answer <- python_call("stability", serialized(object), n_resamples, plain_options(options))
  structure(list(
    frequencies = as_frame(answer$frequencies), table = table_frame(answer$table), draws = as_frame(answer$draws),
    n_resamples = answer$n_resamples, failed = answer$failed, fraction = answer$fraction
  ), class = "relbounds_stability")
}

#' @export
print.relbounds_stability <- function(x, digits = 2, ...) {
  cat(x$n_resamples, " subsamples of ", 100 * x$fraction, "% of the rows",
      if (x$failed) paste0(", ", x$failed, " of them without a fit"), "\n", sep = "")
  shown <- cbind(x$frequencies[1], relevance = x$table$relevance, round(x$frequencies[-1], digits))
  print(shown, row.names = FALSE)
  invisible(x)
}

#' @rdname stability
#' @export
plot.relbounds_stability <- function(x, ...) {
  shares <- t(as.matrix(x$frequencies[names(class_colours)]))
  colnames(shares) <- x$frequencies$feature
  shares <- shares[, rev(seq_len(ncol(shares))), drop = FALSE]
  wide <- max(graphics::strwidth(colnames(shares), units = "inches")) + 0.4
  old <- graphics::par(mai = c(0.8, max(0.8, wide), 0.5, 0.3))
  on.exit(graphics::par(old))
  at <- graphics::barplot(shares, horiz = TRUE, las = 1, col = class_colours, border = NA, xlab = "Share of subsamples", ...)
  graphics::legend("top", legend = names(class_colours), fill = class_colours, border = NA, horiz = TRUE, bty = "n",
                   xpd = NA, inset = c(0, -0.4 / graphics::par("pin")[2]), cex = 0.85)
  invisible(at)
}

#' The cheapest features that support a model as good as the best one
#'
#' Strong features are always in; among weak ones, which stand in for each other, the cheapest completion is found by
#' mixed-integer programming.
#'
#' @param object A fit of [relbounds()].
#' @param cost Named costs, one for each term of the formula; a term with several columns is paid for once.
#' @param other Cost of every term that `cost` does not name.
#' @param exact Prove that the set is cheapest (`TRUE`), or use a heuristic (`FALSE`)? `NULL` decides by size.
#' @param ... Passed on to methods.
#' @return A list of class `relbounds_choice`: `features`, `terms`, `formula`, `cost`, `cost_of_all`, `costs`, `exact`,
#'   `bound`, `gap`, and `fit`, the what-if with every other feature switched off.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + platelets + crp + esr, data = severity, C = 0.1, probes = 10)
#' choose_features(fit, c(stiffness = 90, crp = 6, esr = 3), other = 1)
#' @export
choose_features <- function(object, ...) UseMethod("choose_features")

#' @rdname choose_features
#' @export
choose_features.relbounds <- function(object, cost, other = NULL, exact = NULL, ...) {
  cost <- unlist(cost)
  if (!is.numeric(cost) || is.null(names(cost))) {
    relbounds_stop("'cost' must be named numbers, as in c(mri = 500, age = 0).", class = "relbounds_option_error")
  }
  answer <- python_call("choose", serialized(object), as.list(cost), plain_options(list(other = other, exact = exact)))
  structure(list(
    features = unlist(answer$features), terms = unlist(answer$terms),
    formula = expanded_formula(object, unlist(answer$terms)), cost = answer$cost, cost_of_all = answer$cost_of_all,
    costs = named_values(answer$costs), exact = answer$exact, bound = answer$bound, gap = answer$gap,
    fit = what_if(object, answer$results)
  ), class = "relbounds_choice")
}

#' @export
print.relbounds_choice <- function(x, ...) {
  writeLines(deparse(x$formula))
  cat("cost ", x$cost, " of ", x$cost_of_all, " for all relevant terms (",
      if (x$exact) "proved cheapest" else paste0("heuristic; a set cheaper by up to ", round(100 * x$gap, 1), "% may exist"),
      ")\n", sep = "")
  invisible(x)
}

#' Bound on the risk of every equally good model
#'
#' @param object A fit of [relbounds()].
#' @param tau Chance that the bound does not hold.
#' @param ... Passed on to methods.
#' @return A list of class `relbounds_risk`: `value`, its parts `loss`, `complexity` and `confidence`, `limit` (what no
#'   model exceeds anyway), `vacuous`, and `n_needed`.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp, data = severity, C = 0.1, probes = 10)
#' risk_bound(fit)
#' @export
risk_bound <- function(object, ...) UseMethod("risk_bound")

#' @rdname risk_bound
#' @export
risk_bound.relbounds <- function(object, tau = 0.05, ...) {
  structure(python_call("risk_bound", serialized(object), tau), class = "relbounds_risk")
}

#' @export
print.relbounds_risk <- function(x, ...) {
  writeLines(strwrap(x$text, 80))
  invisible(x)
}

#' Who is hard to grade, and why?
#'
#' For each training row, how far its privileged features excuse it from the margin.
#'
#' @param object A fit of [relbounds()] with privileged features.
#' @param ... Passed on to methods.
#' @return A data frame, one row per training row: response, `predicted`, `slack` (explained by privileged features),
#'   `unexplained`, `function` (which way the row goes wrong), `reason` (the privileged feature that adds most) and what each of them
#'   adds; with a teacher, also the `weight` of the row.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp | priv(biopsy), data = severity, C = 0.1, probes = 10,
#'                  privileged = "teacher")
#' hard <- difficulty(fit)
#' head(hard[order(-hard$slack), ])
#' @export
difficulty <- function(object, ...) UseMethod("difficulty")

#' @rdname difficulty
#' @export
difficulty.relbounds <- function(object, ...) {
  out <- as_frame(python_call("difficulty", serialized(object)))
  rownames(out) <- row.names(object$model)
  out
}

#' Fits side by side
#'
#' @param ... Named fits or what-ifs, or one named list of them.
#' @return A list of class `relbounds_comparison`: `table` (bounds and classes by feature), `facts` (one column per
#'   fit), `markdown` and `latex` (the table as text).
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, probes = 10)
#' compare_fits(all = fit, `no crp` = constrain(fit, crp = "off"))
#' @export
compare_fits <- function(...) {
  fits <- list(...)
  if (length(fits) == 1 && is.list(fits[[1]]) && !inherits(fits[[1]], "relbounds")) fits <- fits[[1]]
  good <- vapply(fits, inherits, NA, what = "relbounds")
  if (!length(fits) || !all(good) || is.null(names(fits)) || any(!nzchar(names(fits)))) {
    relbounds_stop("Name the fits to compare, as in compare_fits(all = fit1, `no age` = fit2).",
                   class = "relbounds_option_error")
  }
  answer <- python_call("compare", lapply(fits, serialized))
  facts <- as_frame(answer$facts)
  rownames(facts) <- unlist(answer$facts_names)
  structure(list(table = as_frame(answer$table), facts = facts, markdown = answer$markdown, latex = answer$latex),
            class = "relbounds_comparison")
}

#' @export
print.relbounds_comparison <- function(x, ...) {
  cat(x$markdown, "\n", sep = "")
  invisible(x)
}

#' Report of a fit as one HTML file
#'
#' Summary, figures, groups, description of the data, settings and versions, in one file that opens without a network.
#'
#' @param object A fit of [relbounds()].
#' @param file Where to write.
#' @param title Title of the report.
#' @param groups Group the features? `NULL` decides by their number.
#' @param sweep Show bounds along the tolerance?
#' @param stability Number of subsamples for class frequencies; 0 leaves them out.
#' @param ... Passed on to methods.
#' @return The path, invisibly.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp, data = severity, C = 0.1, probes = 10)
#' write_report(fit, tempfile(fileext = ".html"), groups = FALSE)
#' @export
write_report <- function(object, ...) UseMethod("write_report")

#' @rdname write_report
#' @export
write_report.relbounds <- function(object, file, title = NULL, groups = NULL, sweep = FALSE, stability = 0, ...) {
  options <- list(title = title, groups = groups, sweep = sweep, stability = stability)
  file <- path.expand(one_string(file, "file"))
  invisible(python_call("report", serialized(object), file, plain_options(options)))
}
