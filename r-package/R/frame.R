# From formula and data to the matrices that the linear programs see.
# R's own model.frame() and model.matrix() do the work; factors get one column per level.

# One column per level for every factor, character or logical variable of a model frame.
full_contrasts <- function(frame, tt) {
  is_grouping <- function(v) is.factor(v) || is.logical(v) || is.character(v)
  used <- rownames(attr(tt, "factors"))
  used <- used[used %in% names(frame)]
  if (attr(tt, "response") > 0) used <- setdiff(used, names(frame)[attr(tt, "response")])
  grouping <- Filter(function(n) is_grouping(frame[[n]]), used)
  out <- lapply(grouping, function(n) {
    levels <- if (is.logical(frame[[n]])) c("FALSE", "TRUE") else levels(as.factor(frame[[n]]))
    structure(diag(length(levels)), dimnames = list(levels, levels))
  })
  stats::setNames(out, grouping)
}

# The columns of one part: matrix without intercept, and the term each column belongs to.
part_matrix <- function(tt, frame, contrasts = full_contrasts(frame, tt)) {
  tt <- stats::delete.response(tt)
  attr(tt, "intercept") <- 1L
  X <- stats::model.matrix(tt, frame, contrasts.arg = if (length(contrasts)) contrasts)
  assign <- attr(X, "assign")
  keep <- assign > 0
  list(
    X = matrix(as.double(X[, keep, drop = FALSE]), nrow(X), sum(keep)),
    # `my var` is shown as my var; terms keep their backticks, since formulas are made of them
    names = sub("^`([^`]+)`$", "\\1", colnames(X)[keep]),
    terms = attr(tt, "term.labels")[assign[keep]],
    contrasts = contrasts
  )
}

# Give the terms of one part what the joint model frame learnt: predvars (knots of poly, ns, scale) and classes.
learn_terms <- function(tt, learnt) {
  key <- function(vars) vapply(as.list(vars)[-1], deparse1, "")
  known <- as.list(attr(learnt, "predvars"))[-1]
  at <- match(key(attr(tt, "variables")), key(attr(learnt, "variables")))
  attr(tt, "predvars") <- as.call(c(as.name("list"), known[at]))
  classes <- attr(learnt, "dataClasses")
  attr(tt, "dataClasses") <- classes[intersect(key(attr(tt, "variables")), names(classes))]
  tt
}

# Joint model frame of all parts, so that one na.action and one subset rule every part.
joint_frame <- function(parsed, frame_call, env) {
  right <- parsed$regular[[3]]
  if (!is.null(parsed$privileged)) right <- call("+", right, parsed$privileged[[2]])
  frame_call$formula <- make_formula(parsed$response, right, environment(parsed$formula))
  frame_call$drop.unused.levels <- TRUE
  frame_call[[1]] <- quote(stats::model.frame)
  frame <- as_relbounds_error(eval(frame_call, env), hint = "")
  if (!nrow(frame)) {
    relbounds_stop("No complete row is left: every row has a missing value in some variable of the formula",
                   " (or 'subset' keeps none). Look at colSums(is.na(data)).")
  }
  frame
}

# Everything Python is told, and everything predict() must remember.
relbounds_design <- function(formula, data, frame_call, env, family = "auto", unordered = FALSE) {
  parsed <- parse_formula(formula, data)
  frame <- joint_frame(parsed, frame_call, env)
  learnt <- attr(frame, "terms")
  regular <- learn_terms(parsed$regular, learnt)
  X <- part_matrix(regular, frame)
  check_columns(X)
  Z <- privileged <- NULL
  if (!is.null(parsed$privileged)) {
    privileged <- learn_terms(parsed$privileged, learnt)
    Z <- part_matrix(privileged, frame)
    check_columns(Z)
  }
  response <- response_codes(stats::model.response(frame), deparse1(parsed$response), family, unordered)
  weights <- stats::model.weights(frame)
  check_weights(weights)
  list(
    X = X, Z = Z, response = response, name = deparse1(parsed$response), formula = parsed$formula,
    text = deparse1(parsed$formula, width.cutoff = 500L), weights = weights, frame = frame, terms = regular,
    privileged_terms = privileged,
    data_columns = intersect(all.vars(stats::delete.response(regular)), names(data)),
    xlevels = stats::.getXlevels(regular, frame), na.action = attr(frame, "na.action")
  )
}

check_columns <- function(part) {
  bad <- colSums(!is.finite(part$X)) > 0
  if (any(bad)) {
    relbounds_stop("Column ", quote_names(part$names[bad][1]), " has infinite or undefined values, for instance the log of 0.",
                   " Correct the values, or leave those rows out with 'subset'.")
  }
}

check_weights <- function(weights) {
  if (is.null(weights)) return(invisible())
  if (!is.numeric(weights)) relbounds_stop("'weights' must be numbers, one per row, or \"balanced\".")
  if (any(weights < 0)) relbounds_stop("'weights' must not be negative.")
  if (!any(weights > 0)) relbounds_stop("'weights' are all 0: no row counts.")
}

# The response as Python gets it: codes 1..L with level names, or plain numbers.
# `unordered`: levels without an order will do.
response_codes <- function(y, name, family, unordered = FALSE) {
  said <- paste0("The response '", name, "' ")
  if (is.null(y)) relbounds_stop(said, "is missing.")
  if (is.matrix(y) && ncol(y) > 1) relbounds_stop(said, "has ", ncol(y), " columns; one is needed.")
  if (unordered && is.character(y)) y <- factor(y)
  if (is.character(y)) {
    shown <- paste0("\"", utils::head(unique(y), 3), "\"", collapse = ", ")
    relbounds_stop(said, "is text, which has no order. Use ordered(", name, ", levels = c(", shown,
                   if (length(unique(y)) > 3) ", ...", ")) with the levels from lowest to highest, or factor() for two classes.")
  }
  if (inherits(y, c("Date", "POSIXt", "difftime"))) {
    relbounds_stop(said, "is a ", class(y)[1], ". Turn it into numbers first, as in as.numeric(", name, ").")
  }
  if (is.logical(y)) return(list(codes = as.integer(y) + 1L, levels = c(FALSE, TRUE), type = "logical", ordered = FALSE))
  if (!is.factor(y)) {
    type <- if (is.integer(y)) "integer" else "number"
    return(list(codes = as.double(y), levels = NULL, type = type, ordered = FALSE))
  }
  present <- levels(y)[levels(y) %in% y]
  if (length(present) < 2) {
    relbounds_stop(said, "has one level only ('", present, "'). At least two must occur.")
  }
  if (!is.ordered(y) && length(present) > 2 && !unordered) {
    relbounds_stop(said, "is a factor with ", length(present), " levels and no order. Use ordered(", name,
                   ", levels = c(", paste0("\"", utils::head(present, 3), "\"", collapse = ", "),
                   if (length(present) > 3) ", ...", ")) with the levels from lowest to highest.")
  }
  if (identical(family, "regression")) {
    relbounds_stop(said, "is a factor; family = \"regression\" needs numbers. Use as.numeric(as.character(", name,
                   ")) if its labels are numbers.")
  }
  list(codes = match(as.character(y), present), levels = present, type = "factor", ordered = is.ordered(y),
       all_levels = levels(y))
}

# The regular columns for new data, by the stored terms, levels and contrasts.
new_matrix <- function(object, newdata) {
  if (!is.data.frame(newdata)) newdata <- as_relbounds_error(as.data.frame(newdata), "'newdata' must be a data frame: ")
  tt <- stats::delete.response(object$terms)
  # What came from the data in training must come from newdata; the rest is looked up where the formula was written.
  absent <- setdiff(object$data_columns, names(newdata))
  if (length(absent)) {
    relbounds_stop("'newdata' lacks ", quote_names(absent), ", which the formula names.",
                   nearest(absent[1], setdiff(names(newdata), object$data_columns)))
  }
  frame <- as_relbounds_error(
    stats::model.frame(tt, newdata, na.action = stats::na.pass, xlev = object$xlevels),
    "'newdata' does not fit the model: ", ". Levels and types must be those of the training data."
  )
  classes <- attr(tt, "dataClasses")
  if (!is.null(classes)) {
    as_relbounds_error(stats::.checkMFClasses(classes[names(classes) %in% names(frame)], frame),
                       "'newdata' does not fit the model: ")
  }
  # model.matrix() drops rows with NA in factors; such rows keep their place and get NA.
  whole <- stats::complete.cases(frame)
  kept <- frame[whole, , drop = FALSE]
  attr(kept, "terms") <- attr(frame, "terms")
  part <- part_matrix(tt, kept, object$contrasts)
  out <- matrix(NA_real_, nrow(frame), length(part$names), dimnames = list(row.names(frame), part$names))
  out[whole, ] <- part$X
  out
}
