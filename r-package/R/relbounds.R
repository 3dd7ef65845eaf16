#' Relevance intervals for the features of a linear model
#'
#' For each feature, the least and the most that any equally good linear model uses it. A feature is *strong* if every
#' good model needs it, *weak* if some use it and others do without it, and *irrelevant* if it cannot be told
#' from noise.
#'
#' The formula has R's own meaning: `.`, `-x`, `I(x^2)`, `poly(x, 2)`, `factor()`, interactions, and look-up in the
#' environment of the formula all work, in every part. There is no intercept column, and a factor gets one column
#' per level (no reference level is dropped); its relevance is that of the whole factor, with the levels under it. Behind
#' `|`, in any order, `priv(...)` names privileged features (known for the training rows only, never needed by
#' [predict()][predict.relbounds]) and `adjust(...)` covariates that are in every model, without penalty and without a
#' class: what matters beyond them?
#'
#' The response decides the family: an ordered factor is *ordinal*, a factor with two levels or a logical is *binary*, an
#' unordered factor with three or more levels *nominal*, few integers (of type `integer`) are *ordinal*, other numbers
#' *regression*, `Surv(time, status)` of the package survival is *survival*; `family` overrules this. `between(lo, hi)` on
#' the left side stands for grades known to lie between two levels.
#'
#' `data` may hold imputed data sets: a `mids` object of the package mice, a `mitml.list`, or a list of data frames. One
#' fit is made of each, and one pooled result comes back.
#'
#' Two arguments are R's own: `subset` and `na.action`. `missing` (`"drop"` or `"raise"`)
#' serves where `na.action` is not given; with neither, `getOption("na.action")` holds, as in other R models. A
#' variable taken out of the formula by `-x` is not looked at: missing values in it cost no rows.
#'
#' @param formula `response ~ features`, `response ~ features | adjust(covariates) | priv(privileged features)`.
#' @param data A data frame in which the variables are looked up first, or several imputed ones.
#' @param family `"auto"`, `"ordinal"`, `"binary"`, `"regression"`, `"nominal"` or `"survival"`.
#' @param order Ordinal only. `"explicit"`: neighbouring levels meet at each threshold, whose order is a constraint;
#'   `"implicit"`: all levels speak at each threshold; `"auto"`: whichever predicts better in cross-validation.
#' @param balance Let both sides of every threshold weigh the same? `FALSE` is the published model, which is often a
#'   constant where levels are of unequal size.
#' @param C Price of the loss against the norm. `NULL` tunes it by cross-validation, a number fixes it, a vector is
#'   the grid.
#' @param gamma Price of the privileged functions' norm; as `C`. Only with privileged features.
#' @param epsilon Half width of the tube in which errors cost nothing; as `C`. Regression only.
#' @param delta How much worse than the best an equally good model may be: `"resample"` (as much as models fitted to
#'   resampled data are), `"resample90"`, `"1se"` or `"2se"` (standard errors of the best loss), or a number.
#' @param tolerance `"split"`: norm and loss have a budget each; `"joint"`: one budget for their sum.
#' @param control `"fwer"`: the chance that any feature of noise is called relevant is at most `alpha`; `"fdr"`: the
#'   expected share of noise among the relevant ones is; `"published"`: permuted features and a prediction interval, as in
#'   the papers, which promise less than they say.
#' @param alpha Level of `control`.
#' @param probes,level,interval With `control = "published"`: number of permuted features, level of the prediction
#'   interval, and `"t"` or `"order"`, how it is computed.
#' @param standardize Scale features to mean 0 and standard deviation 1?
#' @param weights How important each row is, looked up in `data`. For counts use `frequency`.
#' @param frequency How many observations each row stands for, looked up in `data`.
#' @param cluster Which rows belong together, such as visits of one patient: a variable looked up in `data`, the name of a
#'   column, or a formula such as `~patient`.
#' @param cv Number of folds of the cross-validation.
#' @param rule `"best"` takes the best `C`, `"1se"` the smallest within one standard error of it.
#' @param missing `"drop"` or `"raise"`, where `na.action` is not given.
#' @param privileged `"auto"` (whichever predicts best in cross-validation, without them included), `"slack"` (privileged
#'   features explain the slacks) or `"teacher"` (they weight the rows).
#' @param residual Price of slack that privileged features do not explain: a number of at least 1, `Inf`, or
#'   `"auto"`.
#' @param correcting `"sides"` or `"shared"`: one function of the privileged features for each side of a threshold, or
#'   one for both.
#' @param screen Bound terms that are not told from noise only down to twice what noise reaches (`<=` in
#'   tables)? `NULL`: with more than 120 rows.
#' @param bounds `FALSE` fits and predicts only: no bounds, no classes.
#' @param solver `"auto"`, `"cvxopt"`, `"batch"` or `"highs"`. The numbers are the same.
#' @param n_jobs Number of processes; -1 uses all cores. The table does not depend on it.
#' @param seed Seed of all that is drawn. The generator is not R's: `set.seed()` has no effect.
#' @param progress Show a progress bar? `NULL` shows one in an interactive session when the work is long.
#' @param safe A formula is code. `TRUE` refuses one that calls anything but a list of known functions, for formulas that
#'   others wrote.
#' @param subset Rows to use, an expression looked up in `data`.
#' @param na.action What to do with missing values: `na.omit`, `na.exclude`, `na.fail`.
#' @param ... Not used; an unknown argument is an error that lists the known ones.
#'
#' @return An object of class `relbounds`: a plain list that [saveRDS()] keeps whole. Its `table` holds one row per
#'   term, with levels under their factor (see [relevance()]); `baseline` the best model; `intervals` what noise reaches.
#' @seealso [relevance()], [summary()][summary.relbounds], [plot()][relbounds-figures],
#'   [predict()][predict.relbounds], [constrain()], [published()], [install_relbounds()]
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ stiffness + bmi + crp | adjust(age), data = severity, C = 1)
#' fit
#' relevance(fit)
#' predict(fit, head(severity))
#' @export
relbounds <- function(formula, data = NULL, family = "auto", order = "auto", balance = TRUE, C = NULL, gamma = NULL,
                      epsilon = NULL, delta = "resample", tolerance = "split", control = "fwer", alpha = 0.05,
                      probes = 50, level = 0.999, interval = "t", standardize = TRUE, weights = NULL, frequency = NULL,
                      cluster = NULL, cv = 5, rule = "best", privileged = "auto", residual = Inf, correcting = "sides",
                      missing = "drop", screen = NULL, bounds = TRUE, solver = "auto", n_jobs = 1, seed = 0,
                      progress = NULL, safe = FALSE, subset = NULL, na.action = NULL, ...) {
  call <- match.call()
  check_arguments()
  family <- check_family(family)
  options <- list(
    order = order, balance = balance, C = C, gamma = gamma, epsilon = epsilon, delta = delta, tolerance = tolerance,
    control = control, alpha = alpha, probes = probes, level = level, interval = interval, cv = cv, rule = rule,
    privileged = privileged, residual = residual, correcting = correcting, screen = screen, bounds = bounds,
    solver = solver, n_jobs = n_jobs, seed = seed
  )
  options <- c(plain_options(options), list(progress = progress_for(progress)))
  env <- parent.frame()
  formula <- as_formula(formula, env)
  if (isTRUE(safe)) check_safe(formula)
  describe <- function(one) {
    check_data(one)
    frame_call <- frame_call(call, one, missing, !is.null(call$missing), environment(formula), env)
    relbounds_design(formula, one, frame_call, env, family)
  }
  sets <- imputed_sets(data)
  designs <- lapply(if (is.null(sets)) list(data) else sets, describe)
  sent <- lapply(designs, design_for_python, family = family, standardize = standardize)
  answer <- if (is.null(sets)) python_call("fit", sent[[1]], options) else python_call("fit_imputed", sent, options)
  fit <- new_relbounds(answer, remember(designs[[if (is.null(sets)) 1L else answer$nearest]]), call)
  fit$imputations <- answer$imputations
  fit
}

#' The papers' settings
#'
#' The arguments of [relbounds()] with which it computes what the publications do: `delta = 0.001`,
#' `control = "published"`, `balance = FALSE`, `order = "explicit"`.
#'
#' @return A named list of arguments.
#' @examplesIf relbounds::relbounds_available()
#' do.call(relbounds, c(list(severity ~ age + bmi + crp, data = quote(severity), C = 1), published()))
#' @export
published <- function() {
  given <- python_call("published")
  given[order(match(names(given), names(formals(relbounds))))]
}

check_data <- function(data) {
  if (is.null(data) || is.data.frame(data) || is.list(data) || is.environment(data)) {
    if (is.data.frame(data) && !nrow(data)) relbounds_stop("'data' has no rows.")
    return(invisible())
  }
  relbounds_stop("'data' must be a data frame, not ", class(data)[1], ".",
                 if (is.matrix(data)) " Use as.data.frame(data).")
}

# As model.frame() does it: in the data, then where the formula was written; and, for functions that hand on their
# own arguments, where relbounds() was called.
look_up <- function(expr, what, data, formula_env, env) {
  tryCatch(
    eval(expr, data, formula_env),
    error = function(e) as_relbounds_error(eval(expr, data, env), paste0("'", what, "' cannot be looked up: "))
  )
}

# The call to model.frame(), with weights, frequency, cluster, subset and na.action looked up.
frame_call <- function(call, data, missing, missing_given, formula_env, env) {
  out <- call("model.frame", formula = NULL)
  out$data <- data
  if (!is.null(call$subset)) out$subset <- look_up(call$subset, "subset", data, formula_env, env)
  for (what in c("weights", "frequency", "cluster")) {
    if (is.null(call[[what]])) next
    value <- look_up(call[[what]], what, data, formula_env, env)
    value <- row_values(value, what, data, formula_env, env)
    out[[what]] <- if (what == "cluster" && !is.null(value)) as.integer(factor(value, levels = unique(value))) else value
  }
  if (!is.character(missing) || length(missing) != 1 || !missing %in% c("drop", "raise")) {
    relbounds_stop("missing must be \"drop\" or \"raise\".", class = "relbounds_option_error")
  }
  # A function is handed over, so that model.frame() need not find 'na.action' by name.
  na.action <- if (!is.null(call$na.action)) eval(call$na.action, env)
  if (is.null(na.action)) {
    na.action <- if (missing_given) switch(missing, drop = stats::na.omit, raise = stats::na.fail) else
      getOption("na.action", "na.omit")
  }
  if (is.character(na.action)) na.action <- get(na.action, envir = env, mode = "function")
  if (identical(na.action, stats::na.pass)) {
    relbounds_stop("na.action = na.pass is not possible: linear programs need whole rows. Use na.omit or na.exclude.")
  }
  out$na.action <- na.action
  out
}

# One value per row: a variable, the name of a column, or a formula such as ~patient.
row_values <- function(value, what, data, formula_env, env) {
  if (inherits(value, "formula")) {
    if (length(value) != 2) relbounds_stop("'", what, "' as a formula is one-sided, as in ~patient.", class = "relbounds_option_error")
    return(look_up(value[[2]], what, data, formula_env, env))
  }
  if (is.character(value) && length(value) == 1 && (is.null(data) || NROW(data[[1]]) != 1)) {
    if (what == "weights" && value == "balanced") {
      relbounds_stop("weights = \"balanced\" is balance = TRUE now, which is the default.", class = "relbounds_option_error")
    }
    if (!value %in% names(data)) {
      relbounds_stop(what, " = \"", value, "\" is not a column of the data.", nearest(value, names(data)))
    }
    return(data[[value]])
  }
  value
}

plain_options <- function(options) {
  for (name in names(options)) {
    value <- options[[name]]
    if (is.null(value)) next
    several <- is.list(value) && all(vapply(value, is.atomic, NA))
    if (!is.atomic(value) && !several) {
      relbounds_stop("'", name, "' must be a number, a string or a vector, not ", class(value)[1], ".",
                     class = "relbounds_option_error")
    }
    # NA would arrive as a number in Python
    if (anyNA(value, recursive = TRUE)) relbounds_stop("'", name, "' is NA.", class = "relbounds_option_error")
    options[[name]] <- unname(value)
  }
  options
}

# What Python is told about the design: bytes, strings and numbers only.
design_for_python <- function(design, family, standardize) {
  part <- function(p) {
    if (is.null(p)) return(NULL)
    list(values = pack(p$X), names = as.list(p$names), terms = as.list(p$terms), levels = p$facts$levels,
         ordered = as.list(p$facts$ordered), variables = p$facts$variables, numbers = p$facts$numbers)
  }
  response <- design$response
  if (identical(family, "auto") && response$type == "factor" && !response$ordered && length(response$levels) > 2) {
    family <- "nominal"
  }
  list(
    n = nrow(design$X$X), X = part(design$X), Z = part(design$Z), adjust = part(design$adjust), y = pack(response$codes),
    levels = if (!is.null(response$levels)) as.list(response$levels), type = response$type, ordered = response$ordered,
    interval = pack(response$interval), event = pack(response$event), family = family, weights = pack(design$weights),
    frequency = pack(design$frequency), cluster = pack(design$cluster), standardize = standardize, response = design$name,
    formula = design$text
  )
}

# What a fit remembers of R's side, for predict(), update() and augment().
MEMORY <- c("formula", "terms", "privileged_terms", "adjust_terms", "xlevels", "data_columns", "na.action", "weights",
            "contrasts", "adjust_contrasts", "response", "response_name", "sent_columns", "model")

remember <- function(design) {
  out <- design[intersect(MEMORY, names(design))]
  out$contrasts <- design$X$contrasts
  out$adjust_contrasts <- design$adjust$contrasts
  out$response <- design$response[setdiff(names(design$response), c("codes", "event", "interval"))]
  out$response_name <- design$name
  out$sent_columns <- list(regular = design$X$names, adjust = design$adjust$names, terms = design$X$terms)
  out$model <- design$frame
  # The terms carry what the environment of the formula holds; it is needed for look-up, as in lm().
  out
}

# Python's answer and R's memory, as one plain list.
new_relbounds <- function(answer, memory, call) {
  baseline <- answer$baseline
  named <- c("weights", "center", "scale", "adjust_weights", "adjust_center", "adjust_scale")
  base <- lapply(baseline, untell)
  base[intersect(named, names(base))] <- lapply(baseline[intersect(named, names(baseline))], as_named)
  if (length(base$thresholds)) {
    base$thresholds <- stats::setNames(as.double(unlist(base$thresholds)), threshold_names(answer))
  }
  fit <- list(
    table = table_frame(answer$table), family = answer$family, levels = unlist(answer$levels), baseline = base,
    intervals = as_frame(answer$intervals), certificate = answer$certificate, notes = as.character(unlist(answer$notes)),
    header = answer$header, smallest_p = answer$smallest_p, measure = answer$measure, options = answer$options,
    constraints = if (length(answer$constraints)) unlist(answer$constraints),
    before = if (length(answer$before)) table_frame(answer$before), nobs = answer$nobs,
    n_dropped = length(memory$na.action), call = call
  )
  fit <- c(fit, memory)
  fit$versions <- c(python = answer$version, r = as.character(utils::packageVersion("relbounds")))
  fit$serialized <- answer$serialized
  structure(fit, class = "relbounds")
}

as_named <- function(x) stats::setNames(as.double(unlist(x$values)), as.character(unlist(x$names)))

table_frame <- function(columns) {
  out <- as_frame(columns)
  rownames(out) <- make.unique(out$feature)
  out
}

threshold_names <- function(answer) {
  if (identical(answer$family, "regression")) return("(Intercept)")
  levels <- as.character(unlist(answer$levels))
  if (identical(answer$family, "nominal")) return(levels)
  paste(levels[-length(levels)], levels[-1], sep = "|")
}
