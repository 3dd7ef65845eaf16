#' relbounds: relevance intervals for linear models
#'
#' Which variables matter in every good model, in some, or in none? Start with [relbounds()]; read the result with
#' [summary()][summary.relbounds] and [plot()][relbounds-figures]. The Python side is installed once by
#' [install_relbounds()].
#'
#' @docType package
#' @name relbounds-package
#' @keywords internal
#' @importFrom stats coef confint fitted formula nobs predict residuals setNames update weights
#' @importFrom stats anova logLik vcov
NULL
