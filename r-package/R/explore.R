# Questions beyond the table. Each needs Python, which gets back the fit that the R object carries.

#' What if a feature is used less, more, or not at all?
#'
#' Recomputes every interval, and what noise reaches, among the equally good models that obey the constraints.
#'
#' @param object A fit of [relbounds()], or the result of an earlier `constrain()`.
#' @param ... Named constraints, in the units of the table: a number (`bmi = 0`), a pair (`age = c(0, 0.1)`), or
#'   `"off"`, `"min"`, `"max"`. The plain name of a variable stands for its term, with all levels or columns. One named
#'   list works as well, and is needed for a feature called `object`, `heredity` or `noise`.
#' @param heredity Switch interactions off together with their main effects?
#' @param noise Draw noise anew among the models that are left (`TRUE`), or keep that of the fit, which reaches at least as
#'   far (`FALSE`)? `NULL` draws it unless there are very many rows.
#' @return A fit of class `relbounds`, whose print-out shows the constraints; features that they fix are of class
#'   `"fixed"`.
#' @seealso [substitutes()], [cheapest()]
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, delta = 0.1)
#' constrain(fit, crp = "off")
#' @export
constrain <- function(object, ...) UseMethod("constrain")

#' @rdname constrain
#' @export
constrain.relbounds <- function(object, ..., heredity = TRUE, noise = NULL) {
  wishes <- list(...)
  if (length(wishes) == 1 && is.null(names(wishes)) && is.list(wishes[[1]])) wishes <- wishes[[1]]
  if (!length(wishes) || is.null(names(wishes)) || any(!nzchar(names(wishes)))) {
    relbounds_stop("Name the features to constrain, as in constrain(fit, bmi = 0, age = c(0, 0.1), crp = \"off\").",
                   class = "relbounds_option_error")
  }
  wishes <- lapply(plain_options(wishes), function(w) if (length(w) > 1) as.list(w) else w)
  options <- Filter(Negate(is.null), plain_options(list(heredity = heredity, noise = noise)))
  what_if(object, python_call("constrain", serialized(object), wishes, options))
}

# A what-if is a fit with the memory of the fit it came from.
what_if <- function(object, answer) {
  memory <- object[intersect(names(object), MEMORY)]
  new_relbounds(answer, memory, object$call)
}

#' Which features take over when one is switched off?
#'
#' @param object A fit of [relbounds()].
#' @param feature Name of a weakly relevant feature or term; a strong one has no substitute, which is an error.
#' @param heredity Switch its interactions off with it?
#' @param ... Not used; an unknown argument is an error.
#' @return A data frame, best substitute first: bounds as they are (`lower`, `upper`), without `feature` (`lower_off`,
#'   `upper_off`), and with `feature` half used (`upper_half`; `overlap` is 1 for a copy of
#'   `feature`, 0 for one that has nothing to do with it); `role` is `"replaces"` where a feature
#'   becomes strong without `feature`, `"shares"` where it carries the same information together with others.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + platelets + crp + esr, data = severity, C = 0.1, delta = 0.1)
#' substitutes(fit, "crp")
#' @export
substitutes <- function(object, ...) UseMethod("substitutes")

#' @rdname substitutes
#' @export
substitutes.relbounds <- function(object, feature, heredity = TRUE, ...) {
  check_arguments()
  ask(object, "substitutes", feature = one_string(feature, "feature"), heredity = heredity)
}

#' Groups of features that stand in for each other
#'
#' Features are close if holding one of them at its least or most moves the bounds of the others in the same way.
#'
#' @param object A fit of [relbounds()] or of [forest_relevance()].
#' @param cut Where to cut the tree, as a fraction of its tallest link.
#' @param k Wanted number of groups, instead of `cut`.
#' @param part `"regular"` or `"privileged"`.
#' @param by What makes two features close: `"context"` (how holding one moves the others' bounds) or `"overlap"`.
#' @param by_class Do strong features stay alone and irrelevant ones together?
#' @param x Groups, from `groups()`.
#' @param row.names,optional As in [as.data.frame()].
#' @param ... Not used; an unknown argument is an error.
#' @return A list of class `relbounds_groups`: `labels` (named group numbers), `table` (for each group of several
#'   features, how much of it equally good models use together), and for [relbounds()] also `tree` (an [hclust] object),
#'   `distance` (matrix) and `height` (where the tree was cut).
#'   `as.data.frame()` gives one row per feature with its group.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, delta = 0.1)
#' groups(fit)
#' plot(groups(fit))
#' @export
groups <- function(object, ...) UseMethod("groups")

#' @rdname groups
#' @export
groups.relbounds <- function(object, cut = NULL, k = NULL, part = "regular", by = "context", by_class = TRUE, ...) {
  check_arguments()
  new_groups(ask(object, "groups", cut = cut, k = k, part = part, by = by, by_class = by_class), object)
}

new_groups <- function(answer, object) {
  out <- answer[intersect(c("labels", "height", "table", "members", "text"), names(answer))]
  if (!is.null(answer$linkage)) {
    distance <- answer$distance
    out$distance <- structure(as.matrix(distance[-1]), dimnames = list(distance[[1]], names(distance)[-1]))
    out$tree <- as_hclust(answer$linkage, names(answer$labels))
  }
  out$relevance <- stats::setNames(as.character(object$table$relevance), object$table$feature)[names(answer$labels)]
  structure(out, class = "relbounds_groups")
}

# The tree of scipy (clusters numbered from n on) as that of R (single features negative, merges counted from 1).
as_hclust <- function(linkage, labels) {
  n <- length(labels)
  links <- if (is.matrix(linkage)) linkage else matrix(unlist(linkage), ncol = 4, byrow = TRUE)
  if (!nrow(links)) return(NULL)
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
  check_arguments(PRINT_ARGUMENTS)
  for (line in strsplit(x$text, "\n")[[1]]) {
    writeLines(strwrap(line, 80, indent = nchar(sub("[^ ].*", "", line)), exdent = 5))
  }
  invisible(x)
}

#' @rdname groups
#' @export
as.data.frame.relbounds_groups <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  data.frame(feature = names(x$labels), group = as.integer(x$labels), relevance = as_relevance(unname(x$relevance)),
             row.names = row.names, stringsAsFactors = FALSE)
}

#' How much of several features together is in every good model?
#'
#' Each of some features may be replaceable while together they are needed. `together()` gives the least and the most
#' that equally good models use of all of them.
#'
#' @param object A fit of [relbounds()].
#' @param names Names of features or terms.
#' @param x From `together()`.
#' @param row.names,optional As in [as.data.frame()].
#' @param ... Not used; an unknown argument is an error.
#' @return A list of class `relbounds_together`: `terms`, `lower`, `upper`, `exact` (does a model reach `upper`?),
#'   `relevance`, `p_adjusted` and `members` (their rows of the table).
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, delta = 0.1)
#' together(fit, c("crp", "esr"))
#' @export
together <- function(object, ...) UseMethod("together")

#' @rdname together
#' @export
together.relbounds <- function(object, names, ...) {
  check_arguments()
  structure(ask(object, "together", names = strings(names, "names")), class = "relbounds_together")
}

#' @export
print.relbounds_together <- function(x, digits = 3, ...) {
  check_arguments(PRINT_ARGUMENTS)
  cat(paste(x$terms, collapse = " + "), ": ", x$relevance, " together, [", format_bound(x$lower, digits), ", ",
      format_bound(x$upper, digits), "]", if (!isTRUE(x$exact)) " (upper end: a bound)", "\n", sep = "")
  each <- x$members
  print(data.frame(Lower = format_bound(each$lower, digits), Upper = format_bound(each$upper, digits),
                   Relevance = as.character(each$relevance), row.names = make.unique(each$feature)), quote = FALSE)
  invisible(x)
}

#' @rdname together
#' @export
as.data.frame.relbounds_together <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  one_row(x, row.names)
}

# The facts of an answer that are single values, as one row; several names become one string.
one_row <- function(x, row.names = NULL) {
  x <- unclass(x)
  x <- x[setdiff(names(x), c("text", "class", "fit", "results"))]
  x <- lapply(x, function(v) if (is.character(v) && length(v) > 1) paste(v, collapse = ", ") else v)
  keep <- vapply(x, function(v) is.atomic(v) && length(v) == 1, NA)
  out <- data.frame(x[keep], stringsAsFactors = FALSE, check.names = FALSE)
  if (!is.null(row.names)) rownames(out) <- row.names
  out
}

#' Differences between the levels of a factor
#'
#' Is one level above the other in every equally good model? For each pair of levels, or for each level and a
#' reference, the range of their difference over all equally good models.
#'
#' @param object A fit of [relbounds()].
#' @param term The factor, by its name in the formula or by the plain name of the variable.
#' @param reference A level that all others are compared with; `NULL` compares all pairs.
#' @param ... Not used; an unknown argument is an error.
#' @return A data frame of class `relbounds_contrasts` with the columns `term`, `level`, `reference`, `signed_lower`,
#'   `signed_upper`, `direction` (`"always above"`, `"always below"` or `"open"`) and `p_adjusted`, and a plot method.
#' @examplesIf relbounds::relbounds_available()
#' study <- transform(severity, site = factor(rep(c("A", "B", "C"), 100)))
#' fit <- relbounds(severity ~ age + stiffness + site, data = study, C = 0.1, delta = 0.1)
#' level_contrasts(fit, "site")
#' plot(level_contrasts(fit, "site", reference = "A"))
#' @export
level_contrasts <- function(object, ...) UseMethod("level_contrasts")

#' @rdname level_contrasts
#' @export
level_contrasts.relbounds <- function(object, term, reference = NULL, ...) {
  check_arguments()
  out <- ask(object, "level_contrasts", term = one_string(term, "term"),
             reference = if (!is.null(reference)) as.character(reference))
  structure(out, class = c("relbounds_contrasts", "data.frame"))
}

#' @export
print.relbounds_contrasts <- function(x, digits = 3, ...) {
  check_arguments(PRINT_ARGUMENTS)
  cat("Differences between levels of ", x$term[1], ", least and most in any equally good model:\n", sep = "")
  shown <- data.frame(
    Levels = paste(x$level, "-", x$reference), Lower = format_bound(x$signed_lower, digits),
    Upper = format_bound(x$signed_upper, digits), Direction = x$direction, `P adj.` = format_p(x$p_adjusted),
    check.names = FALSE
  )
  print(shown, row.names = FALSE, right = FALSE)
  invisible(x)
}

#' How do bounds and classes depend on the tolerance?
#'
#' @param object A fit of [relbounds()].
#' @param delta Tolerances: numbers, `"resample"`, `"1se"`, `"2se"`; a sensible range by default.
#' @param probes With `control = "published"`: number of probes at each; that of the fit by default.
#' @param x A sweep, from `sweep_delta()`.
#' @param row.names,optional As in [as.data.frame()].
#' @param ... Not used; an unknown argument is an error.
#' @return A list of class `relbounds_sweep`: `table` (one row per tolerance and feature), `changes` (where a class
#'   changes), `strong_until` (the tolerance up to which a feature is strong), `noise` (what noise reaches).
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, delta = 0.1)
#' sweep_delta(fit, c(0.001, 0.01, 0.1))
#' @export
sweep_delta <- function(object, ...) UseMethod("sweep_delta")

#' @rdname sweep_delta
#' @export
sweep_delta.relbounds <- function(object, delta = NULL, probes = NULL, ...) {
  check_arguments()
  answer <- ask(object, "sweep_delta", delta = if (!is.null(delta)) as.list(delta), probes = probes)
  structure(answer[setdiff(names(answer), "class")], class = "relbounds_sweep")
}

#' @export
print.relbounds_sweep <- function(x, ...) {
  check_arguments(PRINT_ARGUMENTS)
  cat("Along ", length(x$deltas), " tolerances, ", signif(min(x$deltas), 3), " to ", signif(max(x$deltas), 3), ":\n", sep = "")
  features <- unique(x$table$feature)
  wide <- vapply(x$deltas, function(d) {
    at <- x$table[x$table$delta == d, ]
    as.character(at$relevance)[match(features, at$feature)]
  }, character(length(features)))
  wide <- matrix(wide, length(features), dimnames = list(features, signif(x$deltas, 2)))
  wide[is.na(wide)] <- ""
  print(as.data.frame(wide), quote = FALSE)
  for (note in unlist(x$notes)) writeLines(strwrap(paste("Note:", note), 80, exdent = 2))
  invisible(x)
}

#' @rdname sweep_delta
#' @export
as.data.frame.relbounds_sweep <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  x$table
}

#' Does a class hang on the sample?
#'
#' Fits the model again on half samples, in complementary pairs, and counts the classes of every feature.
#'
#' @param object A fit of [relbounds()].
#' @param n_resamples Number of subsamples.
#' @param fraction Share of rows in each.
#' @param probes,n_jobs,seed Those of the fit by default.
#' @param x From `stability()`.
#' @param row.names,optional As in [as.data.frame()].
#' @param ... Not used; an unknown argument is an error.
#' @return A list of class `relbounds_stability`: `frequencies` (share of each class for each feature), `table` (the
#'   table of the fit with a column `stability`), `draws` (every repetition), `n_resamples`, `failed`, `fraction`.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + sodium, data = severity, C = 0.1, delta = 0.1)
#' stability(fit, n_resamples = 4)
#' @export
stability <- function(object, ...) UseMethod("stability")

#' @rdname stability
#' @export
stability.relbounds <- function(object, n_resamples = 50, fraction = NULL, probes = NULL, n_jobs = NULL, seed = NULL, ...) {
  check_arguments()
  answer <- ask(object, "stability", n_resamples = n_resamples, fraction = fraction, probes = probes, n_jobs = n_jobs,
                seed = seed)
  structure(answer[setdiff(names(answer), "class")], class = "relbounds_stability")
}

#' @export
print.relbounds_stability <- function(x, digits = 2, ...) {
  check_arguments(PRINT_ARGUMENTS)
  cat(x$n_resamples, " subsamples of ", 100 * x$fraction, "% of the rows",
      if (x$failed) paste0(", ", x$failed, " of them without a fit"), "\n", sep = "")
  print(format_numbers(as.data.frame(x), digits), row.names = FALSE)
  invisible(x)
}

format_numbers <- function(frame, digits) {
  frame[] <- lapply(frame, function(v) if (is.double(v)) round(v, digits) else v)
  frame
}

#' @rdname stability
#' @export
as.data.frame.relbounds_stability <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  shares <- x$frequencies
  at <- match(shares$feature, x$table$feature)
  data.frame(shares[1], relevance = x$table$relevance[at], shares[-1], row.names = row.names, check.names = FALSE)
}

#' The cheapest features that support a model as good as the best one
#'
#' Strong features are always in; among weak ones, which stand in for each other, the cheapest completion is found by
#' mixed-integer programming.
#'
#' @param object A fit of [relbounds()].
#' @param cost Named costs, one for each term of the formula (by the plain names of variables, too); a term with several
#'   columns is paid for once.
#' @param other Cost of every term that `cost` does not name.
#' @param exact Prove that the set is cheapest (`TRUE`), or use a heuristic (`FALSE`)? `NULL` decides by size.
#' @param heredity Keep main effects with their interactions?
#' @param x From `cheapest()`.
#' @param row.names,optional As in [as.data.frame()].
#' @param ... Not used; an unknown argument is an error.
#' @return A list of class `relbounds_choice`: `features`, `terms`, `formula`, `cost`, `cost_of_all`, `costs`, `exact`,
#'   `bound`, `gap`, and `fit`, the what-if with every other feature switched off.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + platelets + crp + esr, data = severity, C = 0.1, delta = 0.1)
#' cheapest(fit, c(stiffness = 90, crp = 6, esr = 3), other = 1)
#' @export
cheapest <- function(object, ...) UseMethod("cheapest")

#' @rdname cheapest
#' @export
cheapest.relbounds <- function(object, cost, other = NULL, exact = NULL, heredity = TRUE, ...) {
  check_arguments()
  cost <- unlist(cost)
  if (!is.numeric(cost) || is.null(names(cost)) || anyNA(cost)) {
    relbounds_stop("'cost' must be named numbers, as in c(mri = 500, age = 0).", class = "relbounds_option_error")
  }
  answer <- python_call("cheapest", serialized(object), as.list(cost),
                        plain_options(list(other = other, exact = exact, heredity = heredity)))
  fit <- what_if(object, answer$results)
  answer <- untell(answer[setdiff(names(answer), c("results", "formula", "class"))])
  structure(c(answer, list(formula = expanded_formula(object, unlist(answer$terms)), fit = fit)), class = "relbounds_choice")
}

#' @export
print.relbounds_choice <- function(x, ...) {
  check_arguments(PRINT_ARGUMENTS)
  writeLines(deparse(x$formula))
  cat("cost ", x$cost, " of ", x$cost_of_all, " for all relevant terms (",
      if (x$exact) "proved cheapest" else paste0("heuristic; a set cheaper by up to ", round(100 * x$gap, 1), "% may exist"),
      ")\n", sep = "")
  invisible(x)
}

#' @rdname cheapest
#' @export
as.data.frame.relbounds_choice <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  data.frame(term = names(x$costs), cost = as.double(x$costs), chosen = names(x$costs) %in% unlist(x$terms),
             row.names = row.names, stringsAsFactors = FALSE)
}

#' Ask "what if?" by dragging bars
#'
#' Opens a page of a fit in a browser. Either end of a bar can be dragged, a number typed, a term switched off: the bars
#' of all other terms show what the equally good models that are left can do, with their classes, the cheapest set, and
#' the constraints as code.
#'
#' The page is served by this computer for this computer (127.0.0.1), under an address that cannot be guessed, and shows
#' this fit only. R waits while it is open: interrupt it (Esc or Ctrl-C), or close the page, to go on. In a document of
#' R Markdown or Quarto the fit is drawn as a picture instead.
#'
#' @param object A fit of [relbounds()].
#' @param port Where to serve the page; `NULL` takes a free port.
#' @param open_browser Open it in a browser? The address is printed in any case.
#' @param idle Seconds without a sign of life of any page after which it ends.
#' @param ... Not used; an unknown argument is an error.
#' @return The address of the page, invisibly, once it has ended; in a document, the figure of [plot()].
#' @seealso [constrain()], [cheapest()]
#' @examplesIf interactive() && relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, delta = 0.1)
#' explorer(fit)
#' @export
explorer <- function(object, ...) UseMethod("explorer")

#' @rdname explorer
#' @export
explorer.relbounds <- function(object, port = NULL, open_browser = interactive(), idle = 600, ...) {
  check_arguments()
  if (isTRUE(getOption("knitr.in.progress"))) return(plot(object))
  options <- plain_options(Filter(Negate(is.null), list(port = port, idle = idle)))
  if (!isTRUE(open_browser) && !isFALSE(open_browser)) {
    relbounds_stop("'open_browser' must be TRUE or FALSE.", class = "relbounds_option_error")
  }
  page <- python_call("explorer", serialized(object), options)
  on.exit(page$stop())
  message("The explorer is at ", page$url, "\nInterrupt R (Esc or Ctrl-C) or close the page to go on.")
  if (open_browser) utils::browseURL(page$url)
  # Python answers the page while R waits for it, and R hears an interrupt between two waits
  tryCatch(while (page$wait(0.2)) NULL, interrupt = function(e) NULL)
  invisible(page$url)
}

#' Bound on the risk of every equally good model
#'
#' @param object A fit of [relbounds()].
#' @param tau Chance that the bound does not hold.
#' @param x From `risk_bound()`.
#' @param row.names,optional As in [as.data.frame()].
#' @param ... Not used; an unknown argument is an error.
#' @return A list of class `relbounds_risk`: `value`, its parts `loss`, `complexity` and `confidence`, `limit` (what no
#'   model exceeds anyway), `vacuous`, and `n_needed`.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp, data = severity, C = 0.1, delta = 0.1)
#' risk_bound(fit)
#' @export
risk_bound <- function(object, ...) UseMethod("risk_bound")

#' @rdname risk_bound
#' @export
risk_bound.relbounds <- function(object, tau = 0.05, ...) {
  check_arguments()
  answer <- ask(object, "risk_bound", tau = tau)
  structure(answer[setdiff(names(answer), "class")], class = "relbounds_risk")
}

#' @export
print.relbounds_risk <- function(x, ...) {
  check_arguments(PRINT_ARGUMENTS)
  writeLines(strwrap(x$text, 80))
  invisible(x)
}

#' @rdname risk_bound
#' @export
as.data.frame.relbounds_risk <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  one_row(x, row.names)
}

#' Who is hard to grade, and why?
#'
#' For each training row, how far its privileged features excuse it from the margin.
#'
#' @param object A fit of [relbounds()] with privileged features.
#' @param ... Not used; an unknown argument is an error.
#' @return A data frame of class `relbounds_difficulty`, one row per training row: response, `predicted`, `slack`
#'   (explained by privileged features), `unexplained`, `function` (which way the row goes wrong), `reason` (the
#'   privileged feature that adds most) and what each of them adds; with a teacher, also the `weight` of the row.
#'   Its plot method shows the hardest rows.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp | priv(biopsy), data = severity, C = 0.1, privileged = "teacher")
#' hard <- difficulty(fit)
#' head(hard[order(-hard$slack), ])
#' plot(hard, most = 10)
#' @export
difficulty <- function(object, ...) UseMethod("difficulty")

#' @rdname difficulty
#' @export
difficulty.relbounds <- function(object, ...) {
  check_arguments()
  out <- ask(object, "difficulty")
  # Python counts the rows it was sent; R knows their names
  if (identical(names(out)[1], "feature") || identical(names(out)[1], "index")) out <- out[-1]
  if (nrow(out) == nrow(object$model)) rownames(out) <- row.names(object$model)
  structure(out, class = c("relbounds_difficulty", "data.frame"))
}

#' How privileged features correct
#'
#' @param object A fit of [relbounds()] with privileged features.
#' @param ... Not used; an unknown argument is an error.
#' @return `correcting()`: a data frame of the fitted correcting functions, one column each (with a teacher: its
#'   weights). `correcting_bounds()`: the bounds of each privileged feature in each of them, in the units of the table.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp | priv(biopsy), data = severity, C = 0.1, privileged = "teacher")
#' correcting(fit)
#' @export
correcting <- function(object, ...) UseMethod("correcting")

#' @rdname correcting
#' @export
correcting.relbounds <- function(object, ...) {
  check_arguments()
  ask(object, "correcting")
}

#' @rdname correcting
#' @export
correcting_bounds <- function(object, ...) UseMethod("correcting_bounds")

#' @rdname correcting
#' @export
correcting_bounds.relbounds <- function(object, ...) {
  check_arguments()
  ask(object, "correcting_bounds")
}

#' Fits side by side
#'
#' @param ... Named fits or what-ifs, or one named list of them.
#' @param x From `compare_fits()`.
#' @param row.names,optional As in [as.data.frame()].
#' @return A list of class `relbounds_comparison`: `table` (bounds and classes by feature), `facts` (one column per
#'   fit), `markdown` and `latex` (the table as text). `as.data.frame()` gives one row per feature and fit.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp + esr, data = severity, C = 0.1, delta = 0.1)
#' compare_fits(all = fit, `no crp` = constrain(fit, crp = "off"))
#' @export
compare_fits <- function(...) {
  fits <- list(...)
  is_fit <- function(f) inherits(f, c("relbounds", "relbounds_forest"))
  if (length(fits) == 1 && is.list(fits[[1]]) && !is_fit(fits[[1]])) fits <- fits[[1]]
  if (!length(fits) || !all(vapply(fits, is_fit, NA)) || is.null(names(fits)) || any(!nzchar(names(fits)))) {
    relbounds_stop("Name the fits to compare, as in compare_fits(all = fit1, `no age` = fit2).",
                   class = "relbounds_option_error")
  }
  if (anyDuplicated(names(fits))) {
    relbounds_stop("Two fits are called ", quote_names(names(fits)[duplicated(names(fits))][1]), ". Give each its own name.",
                   class = "relbounds_option_error")
  }
  answer <- untell(python_call("compare", lapply(fits, function(f) list(serialized(f), class(f)[1]))))
  facts <- answer$facts
  rownames(facts) <- facts[[1]]
  structure(list(table = answer$table, facts = facts[-1], fits = lapply(fits, function(f) f$table),
                 markdown = answer$markdown, latex = answer$latex), class = "relbounds_comparison")
}

#' @rdname compare_fits
#' @export
as.data.frame.relbounds_comparison <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  keep <- c("feature", "part", "lower", "upper", "relevance")
  out <- lapply(names(x$fits), function(f) {
    table <- x$fits[[f]]
    data.frame(fit = f, table[intersect(keep, names(table))], row.names = NULL, stringsAsFactors = FALSE)
  })
  for (i in seq_along(out)) out[[i]]$relevance <- as.character(out[[i]]$relevance)
  do.call(rbind, out)
}

#' @export
print.relbounds_comparison <- function(x, digits = 3, ...) {
  check_arguments(PRINT_ARGUMENTS)
  long <- as.data.frame(x)
  features <- unique(long$feature)
  cell <- function(f) {
    at <- long[long$fit == f, ]
    at <- at[match(features, at$feature), ]
    shown <- paste0("[", format_bound(at$lower, digits), ", ", format_bound(at$upper, digits), "] ", at$relevance)
    ifelse(is.na(at$upper), "", shown)
  }
  shown <- vapply(names(x$fits), cell, character(length(features)))
  shown <- matrix(shown, length(features), dimnames = list(features, names(x$fits)))
  print(as.data.frame(shown, optional = TRUE), right = FALSE)
  cat("\n")
  print(x$facts, right = FALSE)
  invisible(x)
}
