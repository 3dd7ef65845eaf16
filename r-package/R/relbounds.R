#' Relevance intervals for the features of a linear model
#'
#' For each feature, the least and the most that any equally good linear model uses it. A feature is *strong* if every
#' good model needs it, *weak* if some use it and others do without it, and *irrelevant* if none uses it more than it
#' would use noise.
#'
#' The formula has R's own meaning: `.`, `-x`, `I(x^2)`, `poly(x, 2)`, `factor()`, interactions, and look-up in the
#' environment of the formula all work, in either part. There is no intercept column, and a factor gets one column
#' per level (no reference level is dropped), because relevance is asked of each level. Behind `|`, `priv(...)` names
#' privileged features: known for the training rows only, never needed by [predict()][predict.relbounds].
#'
#' The response decides the family: an ordered factor is *ordinal*, a factor with two levels or a logical is *binary*,
#' few integers (of type `integer`) are *ordinal*, other numbers are *regression*; `family` overrules
#' this. An unordered factor with three or more levels, or text,
#' is an error that says what to do.
#'
#' Two arguments are R's own: `subset` and `na.action`. `missing` has Python's meaning (`"drop"` or `"raise"`) and
#' serves where `na.action` is not given; with neither, `getOption("na.action")` holds, as in other R models. A
#' variable taken out of the formula by `-x` is not looked at: missing values in it cost no rows.
#'
#' @param formula `response ~ features` or `response ~ features | priv(privileged features)`.
#' @param data A data frame in which the variables are looked up first.
#' @param family `"auto"`, `"ordinal"`, `"binary"` or `"regression"`.
#' @param order Ordinal only. `"explicit"`: neighbouring levels meet at each threshold, whose order is a constraint;
#'   `"implicit"`: all levels speak at each threshold.
#' @param C Price of the loss against the norm. `NULL` tunes it by cross-validation, a number fixes it, a vector is
#'   the grid.
#' @param gamma Price of the privileged functions' norm; as `C`. Only with privileged features.
#' @param epsilon Half width of the tube in which errors cost nothing; as `C`. Regression only.
#' @param delta How much worse than the best an equally good model may be: `"1se"` (within one standard error of the
#'   best loss), `"2se"`, or a number.
#' @param tolerance `"split"`: norm and loss have a budget each; `"joint"`: one budget for their sum.
#' @param probes Number of permuted features that show what noise reaches.
#' @param level Level of the prediction interval of noise.
#' @param interval `"t"`, `"order"` or `"refit"`: how that interval is computed. `"refit"` is stricter
#'   and slower: features must also stand out from noise that the model was fitted to.
#' @param standardize Scale features to mean 0 and standard deviation 1?
#' @param weights Case weights, looked up in `data`; or `"balanced"`, which gives each level the same total weight.
#' @param cv Number of folds of the cross-validation.
#' @param rule `"best"` takes the best `C`, `"1se"` the smallest within one standard error of it.
#' @param missing `"drop"` or `"raise"`, where `na.action` is not given.
#' @param privileged `"slack"` (privileged features explain the slacks) or `"teacher"` (they weight the rows).
#' @param residual Price of slack that privileged features do not explain: a number of at least 1, `Inf`, or
#'   `"auto"`.
#' @param correcting `"sides"` or `"shared"`: one function of the privileged features for each side of a threshold, or
#'   one for both.
#' @param screen Set aside features that cannot matter before the linear programs are solved? `NULL` decides by size.
#' @param solver `"auto"`, `"cvxopt"`, `"batch"` or `"highs"`. The numbers are the same.
#' @param n_jobs Number of processes; -1 uses all cores. The table does not depend on it.
#' @param seed Seed of folds and probes. The random numbers are Python's: `set.seed()` has no effect.
#' @param progress Show a progress bar? `NULL` shows one on a terminal when the work is long.
#' @param subset Rows to use, an expression looked up in `data`.
#' @param na.action What to do with missing values: `na.omit`, `na.exclude`, `na.fail`.
#' @param ... Not used; an unknown argument is an error that lists the known ones.
#'
#' @return An object of class `relbounds`: a plain list that [saveRDS()] keeps whole. Its `table` holds one row per
#'   feature (see [relevance()]); `baseline` the best model; `intervals` what noise reaches.
#' @seealso [relevance()], [summary()][summary.relbounds], [plot()][plot.relbounds],
#'   [predict()][predict.relbounds], [constrain()], [install_relbounds()]
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp | priv(biopsy), data = severity, C = 1, probes = 10,
#'                  privileged = "teacher")
#' fit
#' relevance(fit)
#' predict(fit, head(severity))
#' @export
relbounds <- function(formula, data = NULL, family = "auto", order = "explicit", C = NULL, gamma = NULL, epsilon = NULL,
                      delta = "1se", tolerance = "split", probes = 50, level = 0.999, interval = "t",
                      standardize = TRUE, weights = NULL, cv = 5, rule = "best", privileged = "slack",
                      residual = Inf, correcting = "sides", missing = "drop", screen = NULL, solver = "auto",
                      n_jobs = 1, seed = 0, progress = NULL, subset = NULL, na.action = NULL, ...) {
  call <- match.call()
  refuse_unknown(list(...), setdiff(names(formals()), "..."))
  check_data(data)
  formula <- as_formula(formula, parent.frame())
  frame_call <- frame_call(call, data, missing, !is.null(call$missing), environment(formula), parent.frame())
  balanced <- identical(frame_call$weights, "balanced")
  if (balanced) frame_call$weights <- NULL
  design <- relbounds_design(formula, data, frame_call, parent.frame(), family)
  options <- list(
    order = order, C = C, gamma = gamma, epsilon = epsilon, delta = delta, tolerance = tolerance, probes = probes,
    level = level, interval = interval, cv = cv, rule = rule, privileged = privileged, residual = residual,
    correcting = correcting, screen = screen, solver = solver, n_jobs = n_jobs, seed = seed, progress = progress
  )
  answer <- python_call("fit", design_for_python(design, family, standardize, balanced), plain_options(options))
  new_relbounds(answer, remember(design), call)
}

refuse_unknown <- function(extra, known) {
  if (!length(extra)) return(invisible())
  name <- names(extra)[1]
  if (is.null(name) || !nzchar(name)) {
    relbounds_stop("There is an argument without a name that no place is left for. The arguments are: ",
                   paste(known, collapse = ", "), ".", class = "relbounds_option_error")
  }
  relbounds_stop("There is no argument '", name, "'.", nearest(name, known), " The arguments are: ",
                 paste(known, collapse = ", "), ".", class = "relbounds_option_error")
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

# The call to model.frame(), with weights, subset and na.action looked up.
frame_call <- function(call, data, missing, missing_given, formula_env, env) {
  out <- call("model.frame", formula = NULL)
  out$data <- data
  if (!is.null(call$subset)) out$subset <- look_up(call$subset, "subset", data, formula_env, env)
  if (!is.null(call$weights)) {
    w <- look_up(call$weights, "weights", data, formula_env, env)
    out$weights <- if (is.character(w) && length(w) == 1 && w != "balanced") {
      if (!w %in% names(data)) {
        relbounds_stop("weights = \"", w, "\" is not a column of the data.", nearest(w, names(data)))
      }
      as.name(w)
    } else if (is.character(w)) {
      "balanced"
    } else {
      w
    }
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

plain_options <- function(options) {
  for (name in names(options)) {
    value <- options[[name]]
    if (is.null(value)) next
    if (!is.atomic(value)) {
      relbounds_stop("'", name, "' must be a number, a string or a vector, not ", class(value)[1], ".",
                     class = "relbounds_option_error")
    }
    # NA would arrive as a number in Python
    if (anyNA(value)) relbounds_stop("'", name, "' is NA.", class = "relbounds_option_error")
    options[[name]] <- unname(value)
  }
  options
}

# What Python is told about the design: bytes, strings and numbers only.
design_for_python <- function(design, family, standardize, balanced) {
  part <- function(p) list(values = pack(p$X), names = as.list(p$names), terms = as.list(p$terms))
  list(
    n = nrow(design$X$X), X = part(design$X), Z = if (!is.null(design$Z)) part(design$Z),
    y = pack(design$response$codes), levels = if (!is.null(design$response$levels)) as.list(design$response$levels),
    type = design$response$type, ordered = design$response$ordered, family = family,
    weights = if (balanced) "balanced" else pack(design$weights), standardize = standardize,
    response = design$name, formula = design$text
  )
}

# What predict(), update() and augment() need later: R's side of the fit.
remember <- function(design) {
  out <- design[c("formula", "terms", "privileged_terms", "xlevels", "data_columns", "na.action", "weights")]
  out$contrasts <- design$X$contrasts
  out$response <- design$response[setdiff(names(design$response), "codes")]
  out$response_name <- design$name
  out$model <- design$frame
  # The terms carry what the environment of the formula holds; it is needed for look-up, as in lm().
  out
}

# Python's answer and R's memory, as one plain list.
new_relbounds <- function(answer, memory, call) {
  table <- table_frame(answer$table)
  baseline <- answer$baseline
  weights <- as_named(baseline$weights)
  fit <- list(
    table = table,
    family = answer$family,
    levels = unlist(answer$levels),
    baseline = list(
      weights = weights, center = as_named(baseline$center), scale = as_named(baseline$scale),
      thresholds = stats::setNames(as.double(unlist(baseline$thresholds)), threshold_names(answer)),
      mu = baseline$mu, rho = baseline$rho, delta = baseline$delta, C = baseline$C, gamma = baseline$gamma,
      epsilon = baseline$epsilon, metric = baseline$metric, score = baseline$score, cv_score = baseline$cv_score
    ),
    intervals = as.data.frame(lapply(answer$intervals, unlist), stringsAsFactors = FALSE),
    certificate = answer$certificate,
    notes = as.character(unlist(answer$notes)),
    options = answer$options,
    constraints = if (length(answer$constraints)) unlist(answer$constraints),
    nobs = answer$nobs,
    n_dropped = length(memory$na.action),
    call = call
  )
  fit <- c(fit, memory)
  fit$versions <- c(python = answer$version, r = as.character(utils::packageVersion("relbounds")))
  fit$serialized <- answer$serialized
  structure(fit, class = "relbounds")
}

as_named <- function(x) stats::setNames(as.double(unlist(x$values)), as.character(unlist(x$names)))

table_frame <- function(columns) {
  columns <- lapply(columns, unlist)
  out <- as.data.frame(columns, stringsAsFactors = FALSE, check.names = FALSE)
  out$relevance <- factor(out$relevance, levels = c("irrelevant", "weak", "strong"), ordered = TRUE)
  rownames(out) <- make.unique(out$feature)
  out
}

threshold_names <- function(answer) {
  if (identical(answer$family, "regression")) return("(Intercept)")
  levels <- as.character(unlist(answer$levels))
  paste(levels[-length(levels)], levels[-1], sep = "|")
}
