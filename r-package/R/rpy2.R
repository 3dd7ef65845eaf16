# For Python users of R: the same formulas and the same objects, without starting a second Python.

# The design in plain things, and what R must remember.
describe_design <- function(formula, data, family = "auto", standardize = TRUE, weights = NULL, na.action = NULL) {
  frame_call <- call("model.frame", formula = NULL, data = data)
  if (is.null(na.action)) na.action <- getOption("na.action", "na.omit")
  frame_call$na.action <- if (is.character(na.action)) get(na.action, mode = "function") else na.action
  balanced <- identical(weights, "balanced")
  if (is.character(weights) && !balanced) {
    if (!weights %in% names(data)) {
      relbounds_stop("weights = \"", weights, "\" is not a column of the data.", nearest(weights, names(data)))
    }
    weights <- data[[weights]]
  }
  if (!balanced) frame_call$weights <- weights
  design <- relbounds_design(as_formula(formula, globalenv()), data, frame_call, globalenv(), family)
  list(sent = design_for_python(design, family, standardize, balanced), memory = remember(design))
}

# A fit made in Python from a pandas formula: its columns are the variables, under the names they have there.
describe_columns <- function(answer, X, y) {
  X <- as.data.frame(X, optional = TRUE)
  names(X) <- as.character(unlist(answer$baseline$weights$names))
  table <- table_frame(answer$table)
  y <- if (identical(answer$family, "regression")) as.double(y) else {
    ordered(as.character(unlist(answer$levels))[y], levels = as.character(unlist(answer$levels)))
  }
  frame <- cbind(stats::setNames(data.frame(y), answer$response), X)
  tick <- function(n) paste0("`", n, "`")
  tt <- stats::terms(stats::reformulate(tick(names(X)), as.name(answer$response), env = globalenv()))
  frame <- stats::model.frame(tt, frame)
  privileged <- table$feature[table$part == "privileged"]
  list(
    formula = stats::formula(tt), terms = attr(frame, "terms"),
    privileged_terms = if (length(privileged)) stats::terms(stats::reformulate(tick(privileged), env = globalenv())),
    xlevels = NULL, data_columns = names(X), na.action = NULL, weights = NULL, contrasts = list(),
    response = if (is.factor(y)) list(levels = levels(y), type = "factor", ordered = nlevels(y) > 2, all_levels = levels(y)) else
      list(levels = NULL, type = "number", ordered = FALSE),
    response_name = answer$response, model = frame
  )
}
