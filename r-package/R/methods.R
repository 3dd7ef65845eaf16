# The questions every R model answers.

#' Relevance bounds as a data frame
#'
#' `relevance()` is to a fit of [relbounds()] what [confint()] is to other models: the table of bounds.
#'
#' @param object A fit of [relbounds()].
#' @param part `"all"`, `"regular"` or `"privileged"`: which features.
#' @param ... Passed on to methods.
#' @return A data frame with one row per feature: `feature`, `part`, `term`, `weight` (of the best model), `lower` and
#'   `upper` (least and most relevance, as shares of the norm of the best model), `signed_lower` and `signed_upper`
#'   (range of the weight itself), `p_noise` (chance that noise reaches `upper`), `p_adjusted` (Benjamini-Hochberg),
#'   `relevance` (ordered factor: irrelevant < weak < strong) and `direction` (`"+"`, `"-"`, or `"?"` where it differs
#'   between equally good models).
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1, probes = 10)
#' relevance(fit)
#' subset(relevance(fit), relevance == "strong")
#' @export
relevance <- function(object, ...) UseMethod("relevance")

#' @rdname relevance
#' @export
relevance.relbounds <- function(object, part = c("all", "regular", "privileged"), ...) {
  part <- match.arg(part)
  table <- object$table
  if (part == "all") table else table[table$part == part, , drop = FALSE]
}

#' Standard methods for relbounds fits
#'
#' What other R models answer, fits of [relbounds()] answer too.
#'
#' `coef()` gives the weights of the best model on the scale of the features as they entered it (standardised unless
#' `standardize = FALSE`); `confint()` the range of each weight over all equally good models, in the same units. The
#' latter is no sampling interval: it says how far the data leave a weight open.
#'
#' @param object,x A fit of [relbounds()].
#' @param parm Names or numbers of the features to show; all by default.
#' @param level Not used: the width follows from `delta`, not from a level.
#' @param row.names,optional As in [as.data.frame()].
#' @param type For `residuals()`: `"level"` counts levels between prediction and truth (numbers: truth minus
#'   prediction).
#' @param ... Not used.
#' @return `coef()` a named vector; `confint()` a matrix; `fitted()` predictions for the training rows; `nobs()` the
#'   number of rows used; `formula()` the formula with `.` written out; `model.frame()` the data that were used.
#' @name relbounds-methods
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1, probes = 10)
#' coef(fit)
#' confint(fit)
#' table(fitted(fit), severity$severity)
#' update(fit, . ~ . - bmi)
NULL

#' @rdname relbounds-methods
#' @export
coef.relbounds <- function(object, ...) object$baseline$weights

#' @rdname relbounds-methods
#' @export
confint.relbounds <- function(object, parm, level = NULL, ...) {
  table <- relevance(object, "regular")
  out <- as.matrix(table[c("signed_lower", "signed_upper")]) * object$baseline$mu
  dimnames(out) <- list(table$feature, c("lower", "upper"))
  if (missing(parm)) out else out[parm, , drop = FALSE]
}

#' @rdname relbounds-methods
#' @export
fitted.relbounds <- function(object, ...) {
  stats::napredict(object$na.action, predict_matrix(object, training_matrix(object), "response"))
}

#' @rdname relbounds-methods
#' @export
residuals.relbounds <- function(object, type = "level", ...) {
  match.arg(type)
  truth <- stats::model.response(object$model)
  guess <- predict_matrix(object, training_matrix(object), "response")
  if (object$family != "regression") {
    at <- function(v) match(as.character(v), as.character(object$levels))
    truth <- at(truth)
    guess <- at(guess)
  }
  stats::naresid(object$na.action, stats::setNames(as.vector(truth) - as.vector(guess), row.names(object$model)))
}

#' @rdname relbounds-methods
#' @export
nobs.relbounds <- function(object, ...) object$nobs

#' @rdname relbounds-methods
#' @export
formula.relbounds <- function(x, ...) {
  expanded_formula(x, attr(x$terms, "term.labels"), attr(x$privileged_terms, "term.labels"))
}

expanded_formula <- function(object, regular, privileged = NULL) {
  add <- function(labels) Reduce(function(a, b) call("+", a, b), lapply(labels, str2lang))
  right <- add(regular)
  if (length(privileged)) {
    right <- call("|", right, as.call(c(as.name("priv"), lapply(privileged, str2lang))))
  }
  make_formula(object$terms[[2]], right, environment(object$terms))
}

#' @rdname relbounds-methods
#' @export
weights.relbounds <- function(object, ...) object$weights

#' @rdname relbounds-methods
#' @param formula Formula or fit.
#' @importFrom stats model.frame
#' @export
model.frame.relbounds <- function(formula, ...) formula$model

#' @rdname relbounds-methods
#' @importFrom stats terms
#' @export
terms.relbounds <- function(x, ...) x$terms

#' @rdname relbounds-methods
#' @export
as.data.frame.relbounds <- function(x, row.names = NULL, optional = FALSE, ...) {
  out <- x$table
  rownames(out) <- row.names
  out
}

#' Fit again with something changed
#'
#' As [update()] for other models; the privileged part is kept unless the new formula names one.
#'
#' @param object A fit of [relbounds()].
#' @param formula. Changes to the formula: `. ~ . - bmi` changes the regular part, `. ~ . | priv(., biopsy)` adds a
#'   privileged feature, `. ~ . | priv()` leaves all of them out.
#' @param ... Arguments of [relbounds()] to change; `NULL` takes one back to its default.
#' @param evaluate Fit, or return the call?
#' @return A new fit, or the call.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1, probes = 10)
#' update(fit, . ~ . - bmi, delta = 0.001)
#' @export
update.relbounds <- function(object, formula., ..., evaluate = TRUE) {
  call <- object$call
  if (is.null(call)) relbounds_stop("This fit was not made by relbounds() in R, so there is no call to update.")
  call[[1]] <- quote(relbounds::relbounds)
  if (!missing(formula.)) call$formula <- update_formula(object, formula.)
  extras <- as.list(match.call(expand.dots = FALSE)$...)
  for (name in names(extras)) call[[name]] <- extras[[name]]
  if (evaluate) eval(call, parent.frame()) else call
}

update_formula <- function(object, new) {
  new <- stats::as.formula(new)
  keep <- formula(object)
  right <- new[[length(new)]]
  privileged <- if (is_call_to(right, "|")) right[[3]] else quote(priv(.))
  if (is_call_to(right, "|")) right <- right[[2]]
  if (!is_call_to(privileged, "priv")) split_formula(new)
  old <- if (is_call_to(keep[[3]], "|")) keep[[3]][[2]] else keep[[3]]
  left <- if (length(new) == 3) new[[2]] else quote(.)
  env <- environment(keep)
  regular <- stats::update.formula(make_formula(keep[[2]], old, env), make_formula(left, right, env))
  labels <- attr(object$privileged_terms, "term.labels")
  args <- as.list(privileged)[-1]
  if (length(args)) {
    add <- function(x) Reduce(function(a, b) call("+", a, b), x)
    was <- if (length(labels)) add(lapply(labels, str2lang)) else 0
    tt <- stats::terms(stats::update.formula(make_formula(NULL, was, env), make_formula(NULL, add(args), env)))
    labels <- attr(tt, "term.labels")
  } else {
    labels <- character()
  }
  right <- regular[[3]]
  if (length(labels)) right <- call("|", right, as.call(c(as.name("priv"), lapply(labels, str2lang))))
  make_formula(regular[[2]], right, env)
}

#' Names of the features of a class, and the formula that has them
#'
#' @param object A fit of [relbounds()].
#' @param kind `"relevant"` (strong or weak), `"strong"`, `"weak"` or `"irrelevant"`.
#' @param privileged For `selected_formula()`: keep the privileged part?
#' @param ... Passed on to methods.
#' @return `selected()`: names of regular features. `selected_formula()`: a formula with the terms they belong to, ready
#'   for [relbounds()], `MASS::polr()` or any other model (`privileged = TRUE` for [relbounds()] only).
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1, probes = 10)
#' selected(fit, "relevant")
#' selected_formula(fit, "strong")
#' @export
selected <- function(object, ...) UseMethod("selected")

#' @rdname selected
#' @export
selected.relbounds <- function(object, kind = c("relevant", "strong", "weak", "irrelevant"), ...) {
  chosen_rows(object, kind)$feature
}

chosen_rows <- function(object, kind) {
  known <- c("relevant", "strong", "weak", "irrelevant")
  kind <- kind[1]
  if (!kind %in% known) {
    relbounds_stop("kind = \"", kind, "\" is not known; use ", quote_names(known, "or"), ".", nearest(kind, known),
                   class = "relbounds_option_error")
  }
  table <- relevance(object, "regular")
  table[table$relevance %in% if (kind == "relevant") c("strong", "weak") else kind, , drop = FALSE]
}

#' @rdname selected
#' @export
selected_formula <- function(object, ...) UseMethod("selected_formula")

#' @rdname selected
#' @export
selected_formula.relbounds <- function(object, kind = c("relevant", "strong", "weak", "irrelevant"),
                                       privileged = FALSE, ...) {
  terms <- unique(chosen_rows(object, kind)$term)
  if (!length(terms)) relbounds_stop("No feature is ", kind[1], " here, so there is no formula to make.")
  expanded_formula(object, terms, if (privileged) attr(object$privileged_terms, "term.labels"))
}
