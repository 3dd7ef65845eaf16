# For Python users of R: the same formulas and the same objects, without starting a second Python.

# The design in plain things, and what R must remember.
describe_design <- function(formula, data, family = "auto", standardize = TRUE, weights = NULL, na.action = NULL,
                            frequency = NULL, cluster = NULL) {
  frame_call <- call("model.frame", formula = NULL, data = data)
  if (is.null(na.action)) na.action <- getOption("na.action", "na.omit")
  frame_call$na.action <- if (is.character(na.action)) get(na.action, mode = "function") else na.action
  for (what in c("weights", "frequency", "cluster")) {
    value <- get(what)
    if (!is.null(value)) frame_call[[what]] <- row_values(value, what, data, globalenv(), globalenv())
  }
  if (!is.null(frame_call$cluster)) frame_call$cluster <- as.integer(factor(frame_call$cluster))
  design <- relbounds_design(as_formula(formula, globalenv()), data, frame_call, globalenv(), family)
  list(sent = design_for_python(design, family, standardize), memory = remember(design))
}

# A fit made in Python from a pandas formula: its columns are the variables, under the names they have there.
describe_columns <- function(answer, X, y, A) {
  named <- function(M, names) stats::setNames(as.data.frame(M, optional = TRUE), as.character(unlist(names)))
  X <- named(X, answer$baseline$center$names)
  A <- named(A, answer$baseline$adjust_center$names)
  table <- table_frame(answer$table)
  levels <- as.character(unlist(answer$levels))
  y <- if (identical(answer$family, "regression")) as.double(y) else
    factor(levels[y], levels = levels, ordered = !answer$family %in% c("binary", "nominal"))
  frame <- cbind(stats::setNames(data.frame(y), answer$response), X, A)
  tick <- function(n) paste0("`", n, "`")
  part <- function(names, response = NULL) {
    if (length(names)) stats::terms(stats::reformulate(tick(names), response, env = globalenv()))
  }
  tt <- part(names(X), as.name(answer$response))
  frame <- stats::model.frame(part(c(names(X), names(A)), as.name(answer$response)), frame)
  list(
    formula = stats::formula(tt), terms = tt, privileged_terms = part(table$feature[table$part == "privileged"]),
    adjust_terms = part(names(A)), xlevels = NULL, data_columns = names(X), na.action = NULL, weights = NULL,
    contrasts = list(), adjust_contrasts = list(),
    response = if (is.factor(y)) list(levels = levels, type = "factor", ordered = is.ordered(y), all_levels = levels) else
      list(levels = NULL, type = "number", ordered = FALSE),
    response_name = answer$response, model = frame
  )
}
