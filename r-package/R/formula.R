# "grade ~ age + log(bmi) | priv(biopsy)" -> response, regular part, privileged part.
# All of it works on the parsed formula, so whatever R accepts inside a term is accepted here.

is_call_to <- function(x, name) is.call(x) && identical(x[[1]], as.name(name))

has_bar <- function(x) is_call_to(x, "|") || (is_call_to(x, "(") && has_bar(x[[2]]))

# The formula in one line with a caret under the piece at fault.
formula_stop <- function(formula, message, piece = NULL, occurrence = 1L) {
  text <- deparse1(formula, width.cutoff = 500L)
  shown <- paste0(message, "\n    ", text)
  if (!is.null(piece)) {
    at <- gregexpr(piece, text, fixed = TRUE)[[1]]
    at <- at[min(occurrence, length(at))]
    if (at > 0) shown <- paste0(shown, "\n    ", strrep(" ", at - 1), "^")
  }
  relbounds_stop(shown, class = "relbounds_formula_error")
}

# priv(z1, log(z2) + z3) -> z1 + log(z2) + z3, as one expression
privileged_expression <- function(call, formula) {
  if (!is_call_to(call, "priv")) {
    text <- deparse1(call)
    formula_stop(formula, paste0("What stands behind '|' must be priv(...). Write '| priv(", text, ")'."), text)
  }
  args <- as.list(call)[-1]
  blank <- vapply(args, function(a) identical(a, quote(expr = )), NA)
  if (!length(args) || any(blank)) {
    formula_stop(formula, "priv() is empty. Name the privileged features, as in '| priv(biopsy)', or leave out '| priv()'.", "priv(")
  }
  Reduce(function(a, b) call("+", a, b), args)
}

as_formula <- function(formula, env) {
  if (inherits(formula, "formula")) return(formula)
  if (is.character(formula) && length(formula) == 1) {
    return(as_relbounds_error(stats::as.formula(formula, env = env), "The formula cannot be read: "))
  }
  relbounds_stop("'formula' must be a formula such as grade ~ age + bmi | priv(biopsy), not ", class(formula)[1], ".")
}

# The parts of a formula, before the data are looked at.
split_formula <- function(formula) {
  if (length(formula) != 3) {
    formula_stop(formula, "The formula has no response. Write it to the left of '~', as in grade ~ age + bmi.", "~")
  }
  right <- formula[[3]]
  privileged <- NULL
  if (is_call_to(right, "|")) {
    if (has_bar(right[[2]]) || has_bar(right[[3]])) {
      formula_stop(formula, "The formula has two '|'. Put all privileged features into one priv(...).", "|", 2L)
    }
    privileged <- privileged_expression(right[[3]], formula)
    right <- right[[2]]
  }
  if ("priv" %in% called_functions(right)) {
    formula_stop(formula, "priv(...) must stand behind '|', as in grade ~ age | priv(biopsy).", "priv(")
  }
  if ("priv" %in% called_functions(privileged)) {
    formula_stop(formula, "priv() stands inside priv(). Separate privileged features by commas.", "priv(", 2L)
  }
  list(formula = formula, response = formula[[2]], regular = right, privileged = privileged,
       environment = environment(formula))
}

called_functions <- function(x) {
  if (is.null(x)) return(character())
  setdiff(all.names(x, unique = TRUE), all.vars(x))
}

make_formula <- function(left, right, env) {
  f <- if (is.null(left)) call("~", right) else call("~", left, right)
  stats::as.formula(f, env = env)
}

# Terms of one part, with '.' standing for the columns of the data that no other part names. Variables that '-'
# takes out are forgotten: missing values in a column that was left out cost no rows, and newdata need not have it.
part_terms <- function(formula, right, response, data, taken) {
  env <- environment(formula)
  columns <- if (is.null(data)) NULL else data[setdiff(names(data), taken)]
  if ("." %in% all.vars(right) && is.null(columns)) {
    relbounds_stop("'.' in the formula stands for all other columns: give 'data', a data frame.")
  }
  tt <- stats::terms(make_formula(NULL, right, env), data = columns)
  labels <- attr(tt, "term.labels")
  if (!length(labels) || !is.null(attr(tt, "offset"))) return(tt)
  # With the response on the left, terms() would drop it from the right without a word.
  used <- vapply(as.list(attr(tt, "variables"))[-1], deparse1, "")
  used <- used[rowSums(attr(tt, "factors") > 0)[seq_along(used)] > 0]
  twice <- intersect(used, c(deparse1(response), all.vars(response)))
  if (!is.null(response) && length(twice)) {
    formula_stop(formula, paste0("The response '", twice[1], "' stands among the features. Leave it out on the right."),
                 twice[1], 2L)
  }
  stats::terms(stats::reformulate(labels, response, env = env))
}

# Response, regular and privileged terms with every '.' expanded, checked against each other.
parse_formula <- function(formula, data = NULL) {
  parts <- split_formula(formula)
  formula <- parts$formula
  own <- all.vars(parts$response)
  dots <- c("." %in% all.vars(parts$regular), "." %in% all.vars(parts$privileged))
  if (all(dots)) {
    formula_stop(formula, "'.' stands in both parts. Name the features in one of them.", ".", 2L)
  }
  named <- function(x) setdiff(all.vars(x), ".")
  regular <- part_terms(formula, parts$regular, parts$response, data, c(own, named(parts$privileged)))
  privileged <- NULL
  if (!is.null(parts$privileged)) {
    privileged <- part_terms(formula, parts$privileged, parts$response, data, c(own, named(parts$regular)))
  }
  check_parts(formula, regular, privileged)
  if (!is.null(privileged)) privileged <- stats::delete.response(privileged)
  check_names(formula, data)
  list(formula = formula, response = parts$response, regular = regular, privileged = privileged)
}

check_parts <- function(formula, regular, privileged) {
  labels <- attr(regular, "term.labels")
  if (!length(labels)) {
    formula_stop(formula, "The formula names no feature. Write at least one to the right of '~'.", "~")
  }
  if (!is.null(privileged) && !length(attr(privileged, "term.labels"))) {
    formula_stop(formula, "priv() names no feature. Name the privileged features, as in '| priv(biopsy)'.", "priv(")
  }
  if (!is.null(attr(regular, "offset")) || !is.null(attr(privileged, "offset"))) {
    formula_stop(formula, "offset() has no meaning here: relevance is about features. Leave it out.", "offset(")
  }
  both <- intersect(labels, if (is.null(privileged)) character() else attr(privileged, "term.labels"))
  if (length(both)) {
    formula_stop(formula, paste0("'", both[1], "' stands in both parts. A feature is either regular or privileged."),
                 both[1], 2L)
  }
}

# Every name must be a column of the data or something that can be seen from where the formula was written.
check_names <- function(formula, data) {
  env <- environment(formula)
  if (is.null(env)) env <- globalenv()
  for (name in setdiff(all.vars(formula), c(".", names(data)))) {
    found <- get0(name, envir = env, ifnotfound = NULL)
    if (is.null(found) || is.function(found)) {
      formula_stop(formula, paste0("'", name, "' is not a column of the data.", nearest(name, names(data))), name)
    }
  }
}
