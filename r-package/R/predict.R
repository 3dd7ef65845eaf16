#' Predict levels, classes or numbers
#'
#' Prediction is by the best model, in R alone: Python is not needed, nor are privileged features.
#'
#' @param object A fit of [relbounds()].
#' @param newdata A data frame with the regular features; the training rows if left out. A row with a missing value
#'   gets `NA`.
#' @param type `"response"`: the predicted level, class or number; `"class"`: the same, for levels and classes;
#'   `"score"`: the score that the thresholds cut (numbers: the prediction). There are no probabilities: the model is
#'   made of thresholds, not of likelihoods.
#' @param ... Not used.
#' @return A factor as the response was (numbers or logicals where the response was), or a named vector of scores.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1, probes = 10)
#' predict(fit, head(severity))
#' predict(fit, head(severity), type = "score")
#' @export
predict.relbounds <- function(object, newdata, type = c("response", "class", "score"), ...) {
  if (is.character(type) && length(type) == 1 && type %in% c("prob", "probs", "p", "probabilities")) {
    relbounds_stop("There are no probabilities: the model is made of thresholds. Use type = \"class\" or \"score\".")
  }
  type <- tryCatch(match.arg(type), error = function(e) {
    relbounds_stop("type must be \"response\", \"class\" or \"score\".", class = "relbounds_option_error")
  })
  if (missing(newdata) || is.null(newdata)) {
    return(stats::napredict(object$na.action, predict_matrix(object, training_matrix(object), type)))
  }
  predict_matrix(object, new_matrix(object, newdata), type)
}

training_matrix <- function(object) {
  part <- part_matrix(object$terms, object$model, object$contrasts)
  structure(part$X, dimnames = list(row.names(object$model), part$names))
}

# Columns that were constant in training are absent from the weights; they say nothing.
predict_matrix <- function(object, X, type) {
  base <- object$baseline
  X <- X[, names(base$weights), drop = FALSE]
  score <- drop(sweep(sweep(X, 2, base$center), 2, base$scale, "/") %*% base$weights)
  names(score) <- rownames(X)
  if (object$family == "regression") {
    if (type == "class") relbounds_stop("The response is a number: there are no classes. Use type = \"response\".")
    return(score + base$thresholds[[1]])
  }
  if (type == "score") return(score)
  code <- 1L + findInterval(score, sort(base$thresholds))
  labels <- object$levels[code]
  switch(object$response$type,
    factor = stats::setNames(factor(labels, levels = object$response$all_levels, ordered = object$response$ordered), names(score)),
    logical = stats::setNames(as.logical(labels), names(score)),
    stats::setNames(if (is.numeric(object$levels)) as.numeric(labels) else labels, names(score))
  )
}
