#' Tidy data frames of a fit
#'
#' Methods for the generics of the packages generics and broom, which need not be installed: load one of them and call
#' `tidy()`, `glance()` or `augment()`. Plain data frames come back; `tibble::as_tibble()` turns them into tibbles.
#' What [groups()], [sweep_delta()], [stability()], [level_contrasts()], [compare_fits()], [cheapest()], [together()],
#' [risk_bound()], [forest_relevance()] and [svor()] return is tidied to the table that `as.data.frame()` gives.
#'
#' There is no confidence interval in these tables. `range.low` and `range.high` are the least and the greatest weight
#' in any equally good model: how far the data leave a weight open, not how far it would move with another sample (for
#' that, see [stability()]). `conf.int` and `conf.level` are accepted because other packages pass them on, and add nothing.
#'
#' @param x A fit of [relbounds()], or an object named above.
#' @param conf.int,conf.level,exponentiate Accepted for packages that pass them on; see above. `exponentiate = TRUE` is
#'   an error: weights are no log odds.
#' @param levels Keep the rows of levels and columns below their terms?
#' @param data The data to augment: those the model was fitted to, by default the variables of the formula.
#' @param newdata New data, without the response if need be.
#' @param ... Not used; an unknown argument is an error.
#' @return `tidy()`: one row per term: `term`, `estimate` (weight of the best model, as a share of the norm),
#'   `range.low` and `range.high` (signed range over all equally good models), `p.value`, `adj.p.value`, then `part`,
#'   `group` (the term of the formula), `row`, `lower`, `upper`,
#'   `relevance` and `direction`. `glance()`: one row: `nobs`, `family`, `C`, `norm`, `loss`, `delta`, `metric`,
#'   `score`, `cv.score`, `strong`, `weak`, `irrelevant`, `certificate`. `augment()`: the data with `.fitted` and `.score` (and `.resid` where the
#'   response is known).
#' @name relbounds-tidiers
#' @examplesIf requireNamespace("generics", quietly = TRUE) && relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
#' generics::tidy(fit)
#' generics::glance(fit)
#' head(generics::augment(fit))
NULL

#' @rdname relbounds-tidiers
#' @exportS3Method generics::tidy
tidy.relbounds <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, levels = TRUE, ...) {
  check_arguments(allow = c("effects", "parametric"))
  if (isTRUE(exponentiate)) {
    relbounds_stop("exponentiate = TRUE has no meaning here: weights are shares of a norm, no log odds.", class = "relbounds_option_error")
  }
  t <- x$table
  if (!"row" %in% names(t)) t$row <- "term"
  if (!levels) t <- t[t$row == "term", , drop = FALSE]
  data.frame(
    term = t$feature, estimate = t$weight, range.low = t$signed_lower, range.high = t$signed_upper,
    p.value = t$p_noise, adj.p.value = t$p_adjusted, part = t$part, group = t$term, row = t$row, lower = t$lower,
    upper = t$upper, relevance = t$relevance, direction = t$direction, stringsAsFactors = FALSE
  )
}

#' @rdname relbounds-tidiers
#' @exportS3Method generics::glance
glance.relbounds <- function(x, ...) {
  check_arguments()
  b <- x$baseline
  n <- class_table(x$table)
  number <- function(v) if (length(v)) as.double(v) else NA_real_
  data.frame(
    nobs = x$nobs, family = x$family, C = number(b$C), norm = number(b$mu), loss = number(b$rho), delta = number(b$delta),
    metric = b$metric, score = number(b$score), cv.score = number(b$cv_score), strong = n[["strong"]],
    weak = n[["weak"]], irrelevant = n[["irrelevant"]], certificate = number(x$certificate), stringsAsFactors = FALSE
  )
}

#' @rdname relbounds-tidiers
#' @exportS3Method generics::augment
augment.relbounds <- function(x, data = stats::model.frame(x), newdata = NULL, ...) {
  check_arguments()
  if (is.null(newdata)) {
    used <- row.names(x$model)
    # The whole data frame may be given, with rows that the fit left out: those get NA.
    at <- if (nrow(data) != length(used)) match(row.names(data), used) else seq_along(used)
    out <- as.data.frame(data)
    X <- training_matrix(x)
    out$.fitted <- unname(predict_matrix(x, X, "response"))[at]
    out$.score <- unname(predict_matrix(x, X, "score"))[at]
    truth <- if (x$family == "survival") NULL else stats::model.response(x$model)[at]
  } else {
    out <- as.data.frame(newdata)
    out$.fitted <- unname(stats::predict(x, newdata))
    out$.score <- unname(stats::predict(x, newdata, type = "score"))
    if (!x$response_name %in% names(newdata)) return(out)
    truth <- newdata[[x$response_name]]
  }
  if (is.null(truth) || x$family == "survival") return(out)
  code <- function(v) if (x$family == "regression") as.numeric(v) else match(as.character(v), as.character(x$levels))
  out$.resid <- unname(code(truth) - code(out$.fitted))
  if (x$family == "nominal") out$.resid <- as.integer(out$.resid != 0)
  out
}

tidy_frame <- function(x, ...) as.data.frame(x)

#' @exportS3Method generics::tidy
tidy.relbounds_forest <- tidy_frame

#' @exportS3Method generics::tidy
tidy.relbounds_groups <- tidy_frame

#' @exportS3Method generics::tidy
tidy.relbounds_sweep <- tidy_frame

#' @exportS3Method generics::tidy
tidy.relbounds_stability <- tidy_frame

#' @exportS3Method generics::tidy
tidy.relbounds_contrasts <- function(x, ...) structure(x, class = "data.frame")

#' @exportS3Method generics::tidy
tidy.relbounds_difficulty <- function(x, ...) structure(x, class = "data.frame")

#' @exportS3Method generics::tidy
tidy.relbounds_comparison <- tidy_frame

#' @exportS3Method generics::tidy
tidy.relbounds_choice <- tidy_frame

#' @exportS3Method generics::tidy
tidy.relbounds_together <- tidy_frame

#' @exportS3Method generics::tidy
tidy.relbounds_risk <- tidy_frame

#' @exportS3Method generics::tidy
tidy.svor <- tidy_frame
