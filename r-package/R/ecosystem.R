# Other packages' verbs for fits: parameters, insight, sjPlot, caret, emmeans, tidymodels. None of them is needed.

#' Fits in other packages
#'
#' Methods that other packages look for. They are there when those packages are, and need nothing from you:
#'
#' * parameters: `model_parameters(fit)`. Its `CI_low` and `CI_high`, which drawing packages look for, are the least and
#'   the greatest weight in any equally good model, and no confidence interval: the attribute `ci_method` says so. `p` is
#'   `p_adjusted`.
#' * insight: `find_formula()`, `model_info()`, `get_parameters()`, `get_data()`, `n_obs()`.
#' * sjPlot: `plot_model(fit)` draws that range.
#' * caret: `varImp(fit)`, and `train(..., method = relbounds_caret())`.
#' * mice: `data` of [relbounds()] may be a `mids` object; `with()` fits each of its data sets.
#' * emmeans: an error that names [level_contrasts()]: there are no standard errors to make marginal means from.
#' * tidymodels: [relbounds_parsnip()].
#'
#' @param model,x,object A fit of [relbounds()].
#' @param ci Accepted, since other packages pass it on; there is no level to choose.
#' @param verbose,... As in those packages.
#' @return What the generic of that package returns.
#' @name relbounds-ecosystem
NULL

#' @rdname relbounds-ecosystem
#' @exportS3Method parameters::model_parameters
model_parameters.relbounds <- function(model, ci = 0.95, ...) {
  t <- model$table
  t <- t[!is.na(t$signed_lower), , drop = FALSE]
  out <- data.frame(
    Parameter = t$feature, Coefficient = t$weight, SE = NA_real_, CI = NA_real_, CI_low = t$signed_lower,
    CI_high = t$signed_upper, p = t$p_adjusted, Lower = t$lower, Upper = t$upper, Relevance = as.character(t$relevance),
    stringsAsFactors = FALSE
  )
  structure(out, ci = NULL, ci_method = "range over all equally good models, not a confidence interval",
            coefficient_name = "Weight", class = c("relbounds_parameters", "data.frame"))
}

#' @export
print.relbounds_parameters <- function(x, digits = 3, ...) {
  check_arguments(PRINT_ARGUMENTS)
  shown <- data.frame(
    Parameter = x$Parameter, Weight = format_bound(x$Coefficient, digits),
    Range = paste0("[", format_bound(x$CI_low, digits), ", ", format_bound(x$CI_high, digits), "]"), p = format_p(x$p),
    Relevance = ifelse(is.na(x$Relevance), "", x$Relevance)
  )
  print(shown, row.names = FALSE, right = FALSE)
  cat("\nRange: least and greatest weight in any equally good model, not a confidence interval.\n")
  invisible(x)
}

#' @rdname relbounds-ecosystem
#' @exportS3Method insight::find_formula
find_formula.relbounds <- function(x, verbose = TRUE, ...) {
  labels <- c(attr(x$terms, "term.labels"), attr(x$adjust_terms, "term.labels"))
  structure(list(conditional = expanded_formula(x, labels)), class = c("insight_formula", "list"))
}

#' @rdname relbounds-ecosystem
#' @exportS3Method insight::model_info
model_info.relbounds <- function(x, verbose = TRUE, ...) {
  names <- c("binomial", "bernoulli", "count", "poisson", "negbin", "beta", "betabinomial", "orderedbeta", "dirichlet",
             "exponential", "logit", "probit", "censored", "truncated", "survival", "linear", "tweedie", "zeroinf",
             "zero_inflated", "dispersion", "hurdle", "ordinal", "cumulative", "multinomial", "categorical", "mixed",
             "multivariate", "trial", "bayesian", "gam", "anova", "timeseries", "ttest", "correlation", "onewaytest", "chi2test",
             "ranktest", "levenetest", "variancetest", "xtab", "proptest", "binomtest", "ftest", "meta", "wiener", "rtchoice", "mixture")
  out <- stats::setNames(as.list(rep(FALSE, length(names))), paste0("is_", names))
  # "linear" keeps other packages from taking weights for log odds and raising e to them
  out$is_linear <- TRUE
  out$is_ordinal <- x$family == "ordinal"
  out$is_binomial <- x$family == "binary"
  out$is_multinomial <- x$family == "nominal"
  out$is_survival <- x$family == "survival"
  c(out, list(link_function = "identity", family = x$family, n_obs = x$nobs, n_grouplevels = NULL))
}

#' @rdname relbounds-ecosystem
#' @exportS3Method insight::get_parameters
get_parameters.relbounds <- function(x, ...) {
  t <- x$table
  data.frame(Parameter = t$feature, Estimate = t$weight, stringsAsFactors = FALSE)
}

#' @rdname relbounds-ecosystem
#' @exportS3Method insight::find_parameters
find_parameters.relbounds <- function(x, ...) list(conditional = x$table$feature)

#' @rdname relbounds-ecosystem
#' @exportS3Method insight::get_data
get_data.relbounds <- function(x, ...) as.data.frame(stats::model.frame(x))

#' @rdname relbounds-ecosystem
#' @exportS3Method caret::varImp
varImp.relbounds <- function(object, ...) {
  t <- object$table
  t <- t[t$row == "term" & t$part == "regular", , drop = FALSE]
  data.frame(Overall = t$upper, Least = t$lower, Relevance = t$relevance, row.names = make.unique(t$feature))
}

#' @rdname relbounds-ecosystem
#' @exportS3Method caret::varImp
varImp.relbounds_forest <- function(object, ...) {
  t <- object$table
  data.frame(Overall = t$upper, Least = t$lower, Relevance = t$relevance, row.names = make.unique(t$feature))
}

#' A model of caret
#'
#' `train(x, y, method = relbounds_caret())` of the package caret tunes `C` by caret's resampling. Further arguments of
#' `train()` go to [relbounds()], for instance `delta`. Bounds are computed for the final model only.
#'
#' @return A list as caret's `getModelInfo()` has them.
#' @examplesIf relbounds::relbounds_available() && requireNamespace("caret", quietly = TRUE)
#' model <- caret::train(severity[c("age", "stiffness", "crp")], severity$severity, method = relbounds_caret(),
#'                       tuneGrid = data.frame(C = c(0.1, 1)), trControl = caret::trainControl("cv", 2))
#' model$bestTune
#' @export
relbounds_caret <- function() {
  list(
    label = "Relevance bounds", library = "relbounds", type = c("Classification", "Regression"),
    parameters = data.frame(parameter = "C", class = "numeric", label = "Price of loss"),
    grid = function(x, y, len = NULL, search = "grid") {
      data.frame(C = if (search == "grid") 10^seq(-2, 1, length.out = max(2, len)) else 10^stats::runif(len, -2, 1))
    },
    loop = NULL,
    fit = function(x, y, wts, param, lev, last, classProbs, ...) {
      data <- as.data.frame(x)
      data$.outcome <- y
      args <- list(stats::as.formula(".outcome ~ ."), data = data, C = param$C, bounds = last)
      if (!is.null(wts)) args$weights <- wts
      do.call(relbounds, c(args, list(...)))
    },
    predict = function(modelFit, newdata, submodels = NULL) unname(stats::predict(modelFit, as.data.frame(newdata))),
    prob = function(modelFit, newdata, submodels = NULL) as.data.frame(stats::predict(modelFit, as.data.frame(newdata), type = "probs")),
    varImp = function(object, ...) varImp.relbounds(object)["Overall"],
    predictors = function(x, ...) selected(x),
    levels = function(x) as.character(x$levels), tags = c("Linear", "Ordinal Outcomes", "Feature Selection"),
    sort = function(x) x[order(x$C), , drop = FALSE]
  )
}

NO_MARGINAL_MEANS <- paste("A relbounds fit has no standard errors, so there are no estimated marginal means. To compare the",
                           "levels of a factor use level_contrasts(fit, \"factor\").")

# emmeans takes text for the reason why there are no data.
#' @rdname relbounds-ecosystem
#' @exportS3Method emmeans::recover_data
recover_data.relbounds <- function(object, ...) NO_MARGINAL_MEANS

#' @rdname relbounds-ecosystem
#' @exportS3Method emmeans::emm_basis
emm_basis.relbounds <- function(object, ...) relbounds_stop(NO_MARGINAL_MEANS)

#' An engine for tidymodels
#'
#' Makes a model `relevance_bounds` known to the package parsnip, with the engine `"relbounds"`, for classification
#' (ordered or not) and regression; its argument `penalty_cost` is `C`. Called by itself when parsnip is loaded.
#'
#' @param parsnip The namespace of parsnip, for tests.
#' @return `TRUE`, invisibly, or `FALSE` where parsnip is not installed.
#' @examples
#' relbounds_parsnip()
#' @export
relbounds_parsnip <- function(parsnip = NULL) {
  if (is.null(parsnip)) {
    # not in the package's dependencies: it is not there on every system, and nothing else needs it
    package <- "parsnip"
    if (!requireNamespace(package, quietly = TRUE)) return(invisible(FALSE))
    parsnip <- asNamespace(package)
  }
  model <- "relevance_bounds"
  parsnip$set_new_model(model)
  for (mode in c("classification", "regression")) {
    parsnip$set_model_mode(model, mode)
    parsnip$set_model_engine(model, mode = mode, eng = "relbounds")
    parsnip$set_fit(
      model = model, eng = "relbounds", mode = mode,
      value = list(interface = "formula", protect = c("formula", "data", "weights"), func = c(pkg = "relbounds", fun = "relbounds"),
                   defaults = list())
    )
    parsnip$set_encoding(
      model = model, eng = "relbounds", mode = mode,
      options = list(predictor_indicators = "none", compute_intercept = FALSE, remove_intercept = FALSE, allow_sparse_x = FALSE)
    )
    types <- if (mode == "regression") c(numeric = "response") else c(class = "class", prob = "probs")
    for (type in names(types)) {
      parsnip$set_pred(
        model = model, eng = "relbounds", mode = mode, type = type,
        value = list(pre = NULL, post = if (type == "prob") function(x, object) as.data.frame(x),
                     func = c(fun = "predict"),
                     args = list(object = quote(object$fit), newdata = quote(new_data), type = types[[type]]))
      )
    }
  }
  parsnip$set_dependency(model, "relbounds", "relbounds")
  parsnip$set_model_arg(model = model, eng = "relbounds", parsnip = "penalty_cost", original = "C",
                        func = list(pkg = "dials", fun = "cost"), has_submodel = FALSE)
  invisible(TRUE)
}
