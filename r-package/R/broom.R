#' Tidy data frames of a fit
#'
#' Methods for the generics of the packages generics and broom, which need not be installed: load one of them and call
#' `tidy()`, `glance()` or `augment()`. Plain data frames come back; `tibble::as_tibble()` turns them into tibbles.
#'
#' @param x A fit of [relbounds()].
#' @param data The data to augment: those the model was fitted to, by default the variables of the formula.
#' @param newdata New data, without the response if need be.
#' @param ... Not used.
#' @return `tidy()`: one row per feature: `term` (the feature), `estimate` (weight), `conf.low` and `conf.high` (signed
#'   range of the weight over all equally good models), `p.value`, `adj.p.value`, then `part`, `group` (the term of the formula), `lower`, `upper`,
#'   `relevance` and `direction`. `glance()`: one row: `nobs`, `family`, `C`, `norm`, `loss`, `delta`, `metric`,
#'   `score`, `cv.score`, `strong`, `weak`, `irrelevant`, `certificate`. `augment()`: the data with `.fitted` and `.score` (and `.resid` where the
#'   response is known).
#' @name relbounds-tidiers
#' @examplesIf requireNamespace("generics", quietly = TRUE) && relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1, probes = 10)
#' generics::tidy(fit)
#' generics::glance(fit)
#' head(generics::augment(fit))
NULL

#' @rdname relbounds-tidiers
#' @exportS3Method generics::tidy
tidy.relbounds <- function(x, ...) {
  t <- x$table
  data.frame(
    term = t$feature, estimate = t$weight, conf.low = t$signed_lower, conf.high = t$signed_upper,
    p.value = t$p_noise, adj.p.value = t$p_adjusted, part = t$part, group = t$term, lower = t$lower, upper = t$upper,
    relevance = t$relevance, direction = t$direction, stringsAsFactors = FALSE
  )
}

#' @rdname relbounds-tidiers
#' @exportS3Method generics::glance
glance.relbounds <- function(x, ...) {
  b <- x$baseline
  n <- table(factor(x$table$relevance, levels = c("strong", "weak", "irrelevant")))
  data.frame(
    nobs = x$nobs, family = x$family, C = b$C, norm = b$mu, loss = b$rho, delta = b$delta, metric = b$metric,
    score = b$score, cv.score = if (is.null(b$cv_score)) NA_real_ else b$cv_score, strong = n[["strong"]],
    weak = n[["weak"]], irrelevant = n[["irrelevant"]], certificate = x$certificate, stringsAsFactors = FALSE
  )
}

#' @rdname relbounds-tidiers
#' @exportS3Method generics::augment
augment.relbounds <- function(x, data = stats::model.frame(x), newdata = NULL, ...) {
  if (is.null(newdata)) {
    used <- row.names(x$model)
    if (nrow(data) != length(used)) {
      # The whole data frame was given, with rows that the fit left out: those get NA.
      at <- match(row.names(data), used)
    } else {
      at <- seq_along(used)
    }
    out <- as.data.frame(data)
    X <- training_matrix(x)
    pick <- function(v) unname(v)[at]
    out$.fitted <- pick(predict_matrix(x, X, "response"))
    out$.score <- pick(predict_matrix(x, X, "score"))
    guess <- out$.fitted
    truth <- stats::model.response(x$model)[at]
  } else {
    out <- as.data.frame(newdata)
    out$.fitted <- unname(stats::predict(x, newdata))
    out$.score <- unname(stats::predict(x, newdata, type = "score"))
    if (!x$response_name %in% names(newdata)) return(out)
    guess <- out$.fitted
    truth <- newdata[[x$response_name]]
  }
  at <- function(v) if (x$family == "regression") as.numeric(v) else match(as.character(v), as.character(x$levels))
  out$.resid <- unname(at(truth) - at(guess))
  out
}
