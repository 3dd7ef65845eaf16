#' Predict levels, classes or numbers
#'
#' Prediction is by the best model. Levels, classes, numbers and scores are computed in R alone; privileged features are
#' not needed.
#'
#' @param object A fit of [relbounds()].
#' @param newdata A data frame with the regular features and the covariates of `adjust()`; the training rows if left out.
#'   A row with a missing value gets `NA`.
#' @param type `"response"`: the predicted level, class or number (survival: the interval up to whose beginning half or
#'   more survive); `"class"`: the same, for levels and classes;
#'   `"score"`: the score that the thresholds cut (numbers: the prediction); `"probs"` (or `"prob"`): probabilities of the
#'   levels, from a model of the levels on held-out scores; of a survival fit, of surviving `times`.
#' @param times Survival only: times for `"probs"`; those at which levels were cut by default.
#' @param ... Not used; an unknown argument is an error.
#' @return A factor as the response was (numbers or logicals where the response was), a named vector of scores, or a
#'   matrix of probabilities with one column per level.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
#' predict(fit, head(severity))
#' predict(fit, head(severity), type = "score")
#' @export
predict.relbounds <- function(object, newdata = NULL, type = c("response", "class", "score", "probs", "prob"), times = NULL,
                              ...) {
  check_arguments()
  type <- one_of(type, c("response", "class", "score", "probs", "prob"), "type")
  X <- if (is.null(newdata)) training_matrix(object) else new_matrix(object, newdata)
  A <- adjust_matrix(object, newdata)
  if (!is.null(times) && (object$family != "survival" || !type %in% c("prob", "probs"))) {
    relbounds_stop("'times' belongs to type = \"probs\" of a survival fit; leave it out here.", class = "relbounds_option_error")
  }
  out <- if (type %in% c("prob", "probs")) predict_probs(object, X, A, times) else predict_matrix(object, X, type, A)
  if (is.null(newdata)) stats::napredict(object$na.action, out) else out
}

training_matrix <- function(object) {
  part <- part_matrix(object$terms, object$model, object$contrasts)
  structure(part$X, dimnames = list(row.names(object$model), part$names))
}

# The columns of covariates that are adjusted for, or NULL where there are none.
adjust_matrix <- function(object, newdata = NULL) {
  tt <- object$adjust_terms
  if (is.null(tt)) return(NULL)
  if (is.null(newdata)) {
    part <- part_matrix(tt, object$model, object$adjust_contrasts)
    return(structure(part$X, dimnames = list(row.names(object$model), part$names)))
  }
  variables <- intersect(all.vars(tt), all.vars(object$formula))
  levels <- lapply(object$adjust_contrasts, rownames)
  new_matrix(object, newdata, tt, object$adjust_contrasts, setdiff(variables, names(which(vapply(variables, function(v) {
    !v %in% names(newdata) && exists(v, envir = environment(tt))
  }, NA)))), if (length(levels)) levels)
}

# The columns that have weights, in their order. Python says which of those it was sent they are; some are left out
# because they were constant, and a factor of two levels has one.
used_columns <- function(object, X, part = "regular") {
  base <- if (is.null(object$baseline)) object else object$baseline
  sent <- if (part == "regular") base$sent else base$adjust_sent
  named <- names(if (part == "regular") base$center else base$adjust_center)
  columns <- if (!length(sent)) named else object$sent_columns[[part]][sent]
  structure(X[, columns, drop = FALSE], dimnames = list(rownames(X), named))
}

# w.x, with what is adjusted for added: a vector, or a matrix with a column per class where there are classes.
linear_score <- function(object, X, A = adjust_matrix(object)) {
  base <- object$baseline
  several <- !is.null(base$class_weights)
  scaled <- function(M, part, center, scale) sweep(sweep(used_columns(object, M, part), 2, center), 2, scale, "/")
  score <- scaled(X, "regular", base$center, base$scale) %*% (if (several) base$class_weights else base$weights)
  if (!is.null(A) && length(base$adjust_center)) {
    own <- if (several) base$adjust_class_weights else base$adjust_weights
    score <- score + scaled(A, "adjust", base$adjust_center, base$adjust_scale) %*% own
  }
  if (several) return(structure(score, dimnames = list(rownames(X), as.character(object$levels))))
  stats::setNames(drop(score), rownames(X))
}

predict_matrix <- function(object, X, type, A = adjust_matrix(object)) {
  base <- object$baseline
  score <- linear_score(object, X, A)
  if (object$family == "regression") {
    if (type == "class") relbounds_stop("The response is a number: there are no classes. Use type = \"response\".")
    return(score + base$thresholds[[1]])
  }
  if (type == "score") return(score)
  if (is.matrix(score)) {
    above <- sweep(score, 2, base$thresholds)
    code <- apply(above, 1, function(r) if (anyNA(r)) NA_integer_ else which.max(r))
    return(as_response(object, code, rownames(score)))
  }
  # survival: the interval up to whose beginning half or more survive
  cuts <- if (length(base$median_cuts)) unlist(base$median_cuts) else base$thresholds
  as_response(object, 1L + findInterval(score, sort(cuts)), names(score))
}

# Probabilities of levels, one column each; of a survival fit, of surviving each time. The model behind them was made from
# held-out scores.
predict_probs <- function(object, X, A, times = NULL) {
  if (object$family == "regression") {
    relbounds_stop("The response is a number: there are no levels to have probabilities. Use type = \"response\".")
  }
  score <- as.matrix(linear_score(object, X, A))
  found <- untell(python_call("probabilities", serialized(object), pack(score), nrow(score), if (!is.null(times)) as.list(times)))
  structure(as.matrix(found), dimnames = list(rownames(X), if (object$family == "survival") names(found) else as.character(object$levels)))
}
