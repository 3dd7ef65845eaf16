# From formula and data to the matrices that the linear programs see.
# R's own model.frame() and model.matrix() do the work; factors get one column per level.

is_grouping <- function(v) is.factor(v) || is.logical(v) || is.character(v)

# Names of the variables of a part that have levels.
grouping_variables <- function(frame, tt) {
  used <- rownames(attr(tt, "factors"))
  used <- used[used %in% names(frame)]
  if (attr(tt, "response") > 0) used <- setdiff(used, names(frame)[attr(tt, "response")])
  Filter(function(n) is_grouping(frame[[n]]), used)
}

levels_of <- function(v) if (is.logical(v)) c("FALSE", "TRUE")[c(FALSE, TRUE) %in% v] else levels(as.factor(v))

# One column per level for every factor, character or logical variable of a model frame, called "site[A]".
full_contrasts <- function(frame, tt) {
  grouping <- grouping_variables(frame, tt)
  out <- lapply(grouping, function(n) {
    levels <- if (is.logical(frame[[n]])) c("FALSE", "TRUE") else levels_of(frame[[n]])
    structure(diag(length(levels)), dimnames = list(levels, paste0("[", levels, "]")))
  })
  stats::setNames(out, grouping)
}

# The columns of one part: matrix without intercept, the term each column belongs to, and what the terms are.
part_matrix <- function(tt, frame, contrasts = full_contrasts(frame, tt)) {
  tt <- stats::delete.response(tt)
  attr(tt, "intercept") <- 1L
  # contrasts have a column a level already: without this R would name those of an interaction without main effects otherwise
  coding <- attr(tt, "factors")
  coding[coding == 2] <- 1L
  attr(tt, "factors") <- coding
  X <- stats::model.matrix(tt, frame, contrasts.arg = if (length(contrasts)) contrasts)
  assign <- attr(X, "assign")
  keep <- assign > 0
  terms <- attr(tt, "term.labels")[assign[keep]]
  # `my var` is shown as my var; terms keep their backticks, since formulas are made of them
  names <- sub("^`([^`]+)`(\\[.*\\])?$", "\\1\\2", colnames(X)[keep])
  list(
    X = matrix(as.double(X[, keep, drop = FALSE]), nrow(X), sum(keep)), names = plain_names(names, terms, tt, contrasts),
    terms = terms, contrasts = contrasts
  )
}

# "factor(site)[A]" is "site[A]", as long as that is nobody else's name.
plain_names <- function(names, terms, tt, contrasts) {
  short <- names
  for (label in intersect(unique(terms), names(contrasts))) {
    variables <- all.vars(str2lang(label))
    if (length(variables) != 1 || label == variables) next
    mine <- terms == label
    short[mine] <- paste0(variables, substring(names[mine], nchar(label) + 1))
  }
  clash <- short %in% short[duplicated(short)]
  make.unique(ifelse(clash, names, short), "#")
}

# Which terms of a part are factors, with their levels; which of them are ordered; the variables behind each; and, where a
# number is cut into levels, which columns hold the same number: these are scaled alike, or a rare level would be cheap.
term_facts <- function(part, tt, frame) {
  factors <- attr(tt, "factors")
  labels <- unique(part$terms)
  grouping <- names(part$contrasts)
  levels <- ordered <- variables <- numbers <- list()
  for (label in labels) {
    own <- rownames(factors)[factors[, label] > 0]
    variables[[label]] <- as.list(unique(unlist(lapply(own, function(v) all.vars(str2lang(v))))))
    if (!length(variables[[label]])) variables[[label]] <- list(label)
    if (!all(own %in% grouping)) {
      if (any(own %in% grouping)) numbers[[label]] <- as.list(same_number(own, part$contrasts, frame))
      next
    }
    sets <- lapply(own, function(v) rownames(part$contrasts[[v]]))
    cells <- Reduce(function(a, b) as.vector(outer(a, b, paste, sep = ":")), sets)
    levels[[label]] <- as.list(cells)
    if (length(own) == 1 && is.ordered(frame[[own]])) ordered <- c(ordered, label)
  }
  list(levels = levels, ordered = ordered, variables = variables, numbers = numbers)
}

# For each column of a product of numbers and levels: which number it holds. The first factor's columns vary fastest.
same_number <- function(own, contrasts, frame) {
  sizes <- vapply(own, function(v) if (v %in% names(contrasts)) ncol(contrasts[[v]]) else NCOL(frame[[v]]), 1L)
  which <- expand.grid(lapply(sizes, seq_len))
  as.integer(interaction(which[!own %in% names(contrasts)], drop = TRUE)) - 1L
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
  for (part in c("privileged", "adjust")) {
    if (!is.null(parsed[[part]])) right <- call("+", right, parsed[[part]][[2]])
  }
  frame_call$formula <- make_formula(parsed$response, right, response_env(parsed))
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
  parts <- list()
  for (part in intersect(c("regular", "privileged", "adjust"), names(parsed))) {
    tt <- learn_terms(parsed[[part]], learnt)
    made <- part_matrix(tt, frame)
    check_columns(made)
    parts[[part]] <- c(made, list(tt = tt, facts = term_facts(made, tt, frame)))
  }
  response <- response_codes(stats::model.response(frame), deparse1(parsed$response), family, unordered)
  weights <- stats::model.weights(frame)
  check_weights(weights, frame[["(frequency)"]])
  list(
    X = parts$regular, Z = parts$privileged, adjust = parts$adjust, response = response, name = deparse1(parsed$response),
    formula = parsed$formula, text = deparse1(parsed$formula, width.cutoff = 500L), weights = weights,
    frequency = check_frequency(frame[["(frequency)"]]), cluster = frame[["(cluster)"]], frame = frame,
    terms = parts$regular$tt, privileged_terms = parts$privileged$tt, adjust_terms = parts$adjust$tt,
    data_columns = intersect(all.vars(stats::delete.response(parts$regular$tt)), names(data)),
    xlevels = stats::.getXlevels(parts$regular$tt, frame), na.action = attr(frame, "na.action")
  )
}

check_columns <- function(part) {
  bad <- colSums(!is.finite(part$X)) > 0
  if (any(bad)) {
    relbounds_stop("Column ", quote_names(part$names[bad][1]), " has infinite or undefined values, for instance the log of 0.",
                   " Correct the values, or leave those rows out with 'subset'.")
  }
}

check_weights <- function(weights, frequency = NULL) {
  if (is.null(weights)) return(invisible())
  if (!is.numeric(weights)) relbounds_stop("'weights' must be numbers, one per row.")
  if (any(weights < 0)) relbounds_stop("'weights' must not be negative.")
  if (!any(weights > 0)) relbounds_stop("'weights' are all 0: no row counts.")
  # polr() and glm() take counts as weights; here weights are importance, and counts have an argument of their own
  counts <- all(weights == round(weights)) && sum(weights) >= 1.5 * length(weights)
  if (counts && is.null(frequency)) {
    relbounds_warn("'weights' are whole numbers that add up to ", sum(weights), " for ", length(weights), " rows. If a row ",
                   "stands for that many observations, say frequency = instead: weights are how important a row is.")
  }
}

check_frequency <- function(frequency) {
  if (is.null(frequency)) return(NULL)
  if (!is.numeric(frequency) || any(frequency < 0) || any(frequency != round(frequency))) {
    relbounds_stop("'frequency' must be whole numbers, 0 or more: how many observations a row stands for.")
  }
  if (!any(frequency > 0)) relbounds_stop("'frequency' is 0 in every row: there is no observation.")
  frequency
}

# The regular columns for new data, by the stored terms, levels and contrasts.
new_matrix <- function(object, newdata, tt = object$terms, contrasts = object$contrasts, columns = object$data_columns,
                       xlevels = object$xlevels) {
  if (!is.data.frame(newdata)) newdata <- as_relbounds_error(as.data.frame(newdata), "'newdata' must be a data frame: ")
  tt <- stats::delete.response(tt)
  # What came from the data in training must come from newdata; the rest is looked up where the formula was written.
  absent <- setdiff(columns, names(newdata))
  if (length(absent)) {
    relbounds_stop("'newdata' lacks ", quote_names(absent), ", which the formula names.",
                   nearest(absent[1], setdiff(names(newdata), columns)))
  }
  frame <- as_relbounds_error(
    stats::model.frame(tt, newdata, na.action = stats::na.pass, xlev = xlevels),
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
  part <- part_matrix(tt, kept, contrasts)
  out <- matrix(NA_real_, nrow(frame), length(part$names), dimnames = list(row.names(frame), part$names))
  out[whole, ] <- part$X
  out
}
