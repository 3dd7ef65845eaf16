# The questions every R model answers.

#' Relevance bounds as a data frame
#'
#' `relevance()` is to a fit of [relbounds()] what [confint()] is to other models: the table of bounds.
#'
#' @param object A fit of [relbounds()].
#' @param part `"all"`, `"regular"`, `"adjust"` or `"privileged"`: which features.
#' @param ... Not used; an unknown argument is an error.
#' @return A data frame with one row per term of the formula, and under a factor or a term with several columns one row
#'   for each of its levels or columns: `feature`, `part`, `term`, `row` (`"term"`, `"level"` or `"column"`), `weight`
#'   (of the best model), `lower` and `upper` (least and most relevance, as shares of the norm of the best model; of a
#'   factor: its largest difference between levels), `signed_lower` and `signed_upper` (range of the weight itself; of a
#'   level: of its deviation from the average level), `p_noise`, `p_adjusted` (against noise; adjusted for all
#'   terms), `relevance` (ordered factor: irrelevant < weak < strong, where irrelevant means not distinguishable from
#'   noise) and `direction` (`"+"`, `"-"`, or `"?"` where it differs between equally good models).
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
#' relevance(fit)
#' subset(relevance(fit), relevance == "strong")
#' @export
relevance <- function(object, ...) UseMethod("relevance")

#' @rdname relevance
#' @export
relevance.relbounds <- function(object, part = "all", ...) {
  check_arguments()
  part <- one_of(part, c("all", "regular", "adjust", "privileged"), "part")
  table <- object$table
  if (part == "all") table else table[table$part == part, , drop = FALSE]
}

#' Standard methods for relbounds fits
#'
#' What other R models answer, fits of [relbounds()] answer too.
#'
#' `coef()` gives the weights of the best model: `"standardized"` (the default) on the scale of the features as they
#' entered it, `"original"` per unit of the feature as it stands in the data, `"share"` as shares of the norm, as in
#' the table. `confint()` gives the range of each weight over all equally good models, in the units of `coef()`. That
#' is no sampling interval: it says how far the data leave a weight open.
#'
#' A fit has no likelihood and no sampling distribution of its weights. So `logLik()` (and with it `AIC()` and `BIC()`),
#' `vcov()` and `anova()` are errors that say what to use instead.
#'
#' @param object,x A fit of [relbounds()].
#' @param parm Names or numbers of the features to show; all by default.
#' @param level Not used: the width follows from `delta`, not from a level.
#' @param scale `"standardized"`, `"original"` or `"share"`.
#' @param row.names,optional As in [as.data.frame()].
#' @param type For `residuals()`: `"level"` counts levels between prediction and truth (numbers: truth minus
#'   prediction; classes without order: 1 where the prediction is wrong).
#' @param nsim,seed As in [stats::simulate()].
#' @param ... Not used; an unknown argument is an error.
#' @return `coef()` a named vector; `confint()` a matrix; `fitted()` predictions for the training rows; `nobs()` the
#'   number of observations used; `formula()` the formula with `.` written out; `model.frame()` the data that were used;
#'   `model.matrix()` the columns of the regular features as the model has them, in their own units; `simulate()` a data
#'   frame of responses drawn from the predicted probabilities.
#' @name relbounds-methods
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
#' coef(fit)
#' coef(fit, scale = "original")
#' confint(fit)
#' head(model.matrix(fit))
#' table(fitted(fit), severity$severity)
#' update(fit, . ~ . - bmi)
NULL

SCALES <- c("standardized", "original", "share")

#' @rdname relbounds-methods
#' @export
coef.relbounds <- function(object, scale = c("standardized", "original", "share"), ...) {
  check_arguments(allow = "complete")
  base <- object$baseline
  # classes without an order have weights each: one column per class
  weights <- if (is.null(base$class_weights)) base$weights else
    structure(base$class_weights, dimnames = list(names(base$center), as.character(object$levels)))
  switch(one_of(scale, SCALES, "scale"), standardized = weights, original = weights / base$scale, share = weights / base$mu)
}

#' @rdname relbounds-methods
#' @export
confint.relbounds <- function(object, parm, level = NULL, ...) {
  check_arguments()
  table <- relevance(object, "regular")
  out <- as.matrix(table[c("signed_lower", "signed_upper")]) * object$baseline$mu
  dimnames(out) <- list(table$feature, c("lower", "upper"))
  if (missing(parm)) return(out)
  if (is.character(parm)) pick_features(table, parm)
  out[parm, , drop = FALSE]
}

no_likelihood <- function(what, instead) {
  relbounds_stop(what, " has no meaning for a relbounds fit: there is no likelihood. ", instead)
}

#' @rdname relbounds-methods
#' @export
logLik.relbounds <- function(object, ...) {
  no_likelihood("logLik()", "Compare models by their cross-validated score, glance(fit)$cv.score, or by compare_fits().")
}

#' @rdname relbounds-methods
#' @export
vcov.relbounds <- function(object, ...) {
  no_likelihood("vcov()", "confint(fit) gives the range of each weight over all equally good models, stability(fit) how it moves with the sample.")
}

#' @rdname relbounds-methods
#' @export
anova.relbounds <- function(object, ...) {
  no_likelihood("anova()", "relevance(fit) tests each term against noise, compare_fits() puts fits side by side.")
}

#' @rdname relbounds-methods
#' @export
fitted.relbounds <- function(object, ...) {
  check_arguments()
  stats::napredict(object$na.action, predict_matrix(object, training_matrix(object), "response"))
}

#' @rdname relbounds-methods
#' @export
residuals.relbounds <- function(object, type = "level", ...) {
  check_arguments()
  one_of(type, "level", "type")
  truth <- stats::model.response(object$model)
  guess <- predict_matrix(object, training_matrix(object), "response")
  if (object$family == "survival") {
    relbounds_stop("Censored times have no residuals here. Look at predict(fit, type = \"score\") and plot_survival(fit).")
  }
  if (object$family != "regression") {
    at <- function(v) match(as.character(v), as.character(object$levels))
    truth <- at(truth)
    guess <- at(guess)
    if (object$family == "nominal") guess <- truth - (truth != guess)
  }
  stats::naresid(object$na.action, stats::setNames(as.vector(truth) - as.vector(guess), row.names(object$model)))
}

#' @rdname relbounds-methods
#' @export
nobs.relbounds <- function(object, ...) {
  check_arguments(allow = "use.fallback")
  object$nobs
}

#' @rdname relbounds-methods
#' @export
formula.relbounds <- function(x, ...) {
  check_arguments()
  expanded_formula(x, attr(x$terms, "term.labels"), attr(x$privileged_terms, "term.labels"),
                   attr(x$adjust_terms, "term.labels"))
}

expanded_formula <- function(object, regular, privileged = NULL, adjust = NULL) {
  add <- function(labels) Reduce(function(a, b) call("+", a, b), lapply(labels, str2lang))
  right <- add(regular)
  if (length(adjust)) right <- call("|", right, as.call(c(as.name("adjust"), lapply(adjust, str2lang))))
  if (length(privileged)) right <- call("|", right, as.call(c(as.name("priv"), lapply(privileged, str2lang))))
  make_formula(object$terms[[2]], right, environment(object$terms))
}

#' @rdname relbounds-methods
#' @export
weights.relbounds <- function(object, ...) {
  check_arguments()
  object$weights
}

#' @rdname relbounds-methods
#' @param formula Formula or fit.
#' @importFrom stats model.frame
#' @export
model.frame.relbounds <- function(formula, ...) {
  check_arguments()
  formula$model
}

#' @rdname relbounds-methods
#' @importFrom stats model.matrix
#' @export
model.matrix.relbounds <- function(object, ...) {
  check_arguments(allow = "data")
  structure(used_columns(object, training_matrix(object)),
            assign = match(object$sent_columns$terms[object$baseline$sent], attr(object$terms, "term.labels")))
}

#' @rdname relbounds-methods
#' @importFrom stats simulate
#' @export
simulate.relbounds <- function(object, nsim = 1, seed = NULL, ...) {
  check_arguments()
  if (object$family %in% c("regression", "survival")) {
    relbounds_stop("simulate() draws levels from predicted probabilities; a ", object$family, " fit has none. ",
                   "Add draws from residuals(fit) to fitted(fit) for numbers.")
  }
  # as stats::simulate() does it: the state of the generator is left as it was when a seed is given
  if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) stats::runif(1)
  state <- get(".Random.seed", envir = globalenv())
  if (!is.null(seed)) {
    on.exit(assign(".Random.seed", state, envir = globalenv()))
    set.seed(seed)
  }
  probs <- stats::predict(object, type = "probs")
  draw <- function(i) {
    u <- stats::runif(nrow(probs))
    code <- 1L + rowSums(u > t(apply(probs, 1, cumsum))[, -ncol(probs), drop = FALSE])
    unname(as_response(object, code))
  }
  out <- stats::setNames(lapply(seq_len(nsim), draw), paste0("sim_", seq_len(nsim)))
  structure(as.data.frame(out, row.names = rownames(probs)), seed = if (is.null(seed)) state else seed)
}

#' @rdname relbounds-methods
#' @importFrom stats terms
#' @export
terms.relbounds <- function(x, ...) {
  check_arguments()
  x$terms
}

#' @rdname relbounds-methods
#' @export
as.data.frame.relbounds <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_arguments(allow = "stringsAsFactors")
  out <- x$table
  rownames(out) <- row.names
  out
}

#' Fit again with something changed
#'
#' As [update()] for other models; privileged and adjusting parts are kept unless the new formula names them.
#'
#' @param object A fit of [relbounds()].
#' @param formula. Changes to the formula: `. ~ . - bmi` changes the regular part, `. ~ . | priv(., biopsy)` adds a
#'   privileged feature, `. ~ . | priv()` leaves all of them out; `adjust()` likewise.
#' @param ... Arguments of [relbounds()] to change; `NULL` takes one back to its default.
#' @param evaluate Fit, or return the call?
#' @return A new fit, or the call.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
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

# Each part is updated by the part of the same name; a part that the new formula does not name stays as it is.
update_formula <- function(object, new) {
  new <- stats::as.formula(new)
  keep <- formula(object)
  env <- environment(keep)
  pieces <- split_bars(new[[length(new)]])
  left <- if (length(new) == 3) new[[2]] else quote(.)
  old <- split_bars(keep[[3]])[[1]]
  regular <- stats::update.formula(make_formula(keep[[2]], old, env), make_formula(left, pieces[[1]], env))
  given <- list()
  for (piece in pieces[-1]) {
    name <- part_name(piece)
    if (is.null(name)) split_formula(new)
    given[[name]] <- as.list(piece)[-1]
  }
  labels <- list(adjust = attr(object$adjust_terms, "term.labels"), priv = attr(object$privileged_terms, "term.labels"))
  for (name in names(given)) labels[[name]] <- update_labels(labels[[name]], given[[name]], env)
  right <- regular[[3]]
  for (name in names(labels)) {
    if (length(labels[[name]])) {
      right <- call("|", right, as.call(c(as.name(name), lapply(labels[[name]], str2lang))))
    }
  }
  make_formula(regular[[2]], right, env)
}

# Labels of a part after `priv(., x)`, `priv(-x)` or `priv()`.
update_labels <- function(labels, args, env) {
  if (!length(args)) return(character())
  add <- function(x) Reduce(function(a, b) call("+", a, b), x)
  was <- if (length(labels)) add(lapply(labels, str2lang)) else 0
  attr(stats::terms(stats::update.formula(make_formula(NULL, was, env), make_formula(NULL, add(args), env))), "term.labels")
}

#' Names of the terms of a class, and the formula that has them
#'
#' @param object A fit of [relbounds()] or [forest_relevance()].
#' @param kind `"relevant"` (strong or weak), `"strong"`, `"weak"` or `"irrelevant"`.
#' @param privileged For `selected_formula()`: keep the privileged part?
#' @param ... Not used; an unknown argument is an error.
#' @return `selected()`: names of regular terms. `selected_formula()`: a formula with them, ready
#'   for [relbounds()], `MASS::polr()` or any other model (those without `adjust()` and `priv()` parts).
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
#' selected(fit, "relevant")
#' selected_formula(fit, "strong")
#' @export
selected <- function(object, ...) UseMethod("selected")

#' @rdname selected
#' @export
selected.relbounds <- function(object, kind = "relevant", ...) {
  check_arguments()
  chosen_rows(object$table, kind)$term
}

KINDS <- c("relevant", "strong", "weak", "irrelevant")

# Rows of terms, not of their levels; of regular features.
chosen_rows <- function(table, kind) {
  kind <- one_of(kind, KINDS, "kind")
  if ("part" %in% names(table)) table <- table[table$part == "regular", , drop = FALSE]
  if ("row" %in% names(table)) table <- table[table$row == "term", , drop = FALSE]
  table[table$relevance %in% if (kind == "relevant") c("strong", "weak") else kind, , drop = FALSE]
}

#' @rdname selected
#' @export
selected_formula <- function(object, ...) UseMethod("selected_formula")

#' @rdname selected
#' @export
selected_formula.relbounds <- function(object, kind = "relevant", privileged = FALSE, ...) {
  check_arguments()
  terms <- unique(chosen_rows(object$table, kind)$term)
  if (!length(terms)) relbounds_stop("No feature is ", kind, " here, so there is no formula to make.")
  expanded_formula(object, terms, if (privileged) attr(object$privileged_terms, "term.labels"),
                   attr(object$adjust_terms, "term.labels"))
}
