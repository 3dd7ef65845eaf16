# "grade ~ age + log(bmi) | adjust(sex) | priv(biopsy)" -> response, regular, adjusting and privileged part.
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

# What may stand behind '|', each once and in any order.
PART_NAMES <- c("priv", "adjust")

# a | b | c -> a, b, c
split_bars <- function(right) {
  if (is_call_to(right, "|")) c(split_bars(right[[2]]), list(right[[3]])) else list(right)
}

part_name <- function(piece) {
  for (name in PART_NAMES) if (is_call_to(piece, name)) return(name)
  NULL
}

# priv(z1, log(z2) + z3) -> z1 + log(z2) + z3, as one expression
part_expression <- function(call, name, formula) {
  args <- as.list(call)[-1]
  blank <- vapply(args, function(a) identical(a, quote(expr = )), NA)
  if (!length(args) || any(blank)) {
    example <- c(priv = "biopsy", adjust = "age, sex")[[name]]
    formula_stop(formula, paste0(name, "() is empty. Name the features, as in '| ", name, "(", example, ")', or leave out '| ",
                                 name, "()'."), paste0(name, "("))
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
  pieces <- split_bars(formula[[3]])
  parts <- list(priv = NULL, adjust = NULL)
  for (piece in pieces[-1]) {
    name <- part_name(piece)
    if (is.null(name)) {
      text <- deparse1(piece)
      formula_stop(formula, paste0("What stands behind '|' must be priv(...) or adjust(...). Write '| priv(", text, ")' for ",
                                   "features known in training only, or '| adjust(", text, ")' for covariates."), text)
    }
    if (!is.null(parts[[name]])) {
      formula_stop(formula, paste0("There are two ", name, "(...) parts. Put all of them into one."), paste0(name, "("), 2L)
    }
    if (any(PART_NAMES %in% called_functions(as.call(c(as.name("list"), as.list(piece)[-1]))))) {
      formula_stop(formula, paste0("A part stands inside ", name, "(). Separate features by commas."), paste0(name, "("), 1L)
    }
    parts[[name]] <- part_expression(piece, name, formula)
  }
  regular <- pieces[[1]]
  if (has_bar(regular)) formula_stop(formula, "'|' stands inside brackets. Write parts as '| priv(...)' at the end.", "|")
  inside <- intersect(PART_NAMES, called_functions(regular))
  if (length(inside)) {
    formula_stop(formula, paste0(inside[1], "(...) must stand behind '|', as in grade ~ age | ", inside[1], "(...)."),
                 paste0(inside[1], "("))
  }
  list(formula = formula, response = formula[[2]], regular = regular, privileged = parts$priv, adjust = parts$adjust,
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

# Response, regular, privileged and adjusting terms with every '.' expanded, checked against each other.
parse_formula <- function(formula, data = NULL) {
  parts <- split_formula(formula)
  formula <- parts$formula
  names <- c("regular", "privileged", "adjust")
  given <- names[!vapply(parts[names], is.null, NA)]
  dots <- vapply(parts[given], function(p) "." %in% all.vars(p), NA)
  if (sum(dots) > 1) formula_stop(formula, "'.' stands in two parts. Name the features in one of them.", ".", 2L)
  named <- function(x) setdiff(all.vars(x), ".")
  out <- list(formula = formula, response = parts$response)
  for (name in given) {
    others <- unlist(lapply(setdiff(given, name), function(other) named(parts[[other]])))
    tt <- part_terms(formula, parts[[name]], parts$response, data, c(all.vars(parts$response), others))
    out[[name]] <- tt
  }
  check_parts(formula, out)
  for (name in setdiff(given, "regular")) out[[name]] <- stats::delete.response(out[[name]])
  check_names(formula, data)
  out
}

check_parts <- function(formula, parts) {
  labels <- lapply(parts[c("regular", "privileged", "adjust")], function(p) if (!is.null(p)) attr(p, "term.labels"))
  if (!length(labels$regular)) {
    formula_stop(formula, "The formula names no feature. Write at least one to the right of '~'.", "~")
  }
  for (name in c("privileged", "adjust")) {
    word <- c(privileged = "priv", adjust = "adjust")[[name]]
    if (!is.null(parts[[name]]) && !length(labels[[name]])) {
      formula_stop(formula, paste0(word, "() names no feature."), paste0(word, "("))
    }
  }
  if (any(vapply(parts[names(labels)], function(p) !is.null(attr(p, "offset")), NA))) {
    formula_stop(formula, "offset() has no meaning here: relevance is about features. Use '| adjust(...)' for covariates.", "offset(")
  }
  every <- unlist(labels, use.names = FALSE)
  both <- every[duplicated(every)]
  if (length(both)) {
    formula_stop(formula, paste0("'", both[1], "' stands in both parts. A variable is a feature, privileged, or adjusted for."),
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

# What a formula may call with safe = TRUE: nothing that reads files, runs programs or looks elsewhere.
SAFE_FUNCTIONS <- c("~", "+", "-", "*", "/", "^", ":", "|", "(", "%in%", "%%", "%/%", "!", "&", "==", "!=", "<", ">", "<=", ">=", "c",
                    "I", "abs", "exp", "log", "log10", "log1p", "log2", "sqrt", "round", "floor", "ceiling", "sign", "pmin", "pmax",
                    "sin", "cos", "tan", "tanh", "scale", "poly", "ns", "bs", "cut", "factor", "ordered", "as.factor",
                    "as.ordered", "as.numeric", "as.integer", "as.logical", "ifelse", "is.na", "priv", "adjust", "between", "Surv")

check_safe <- function(formula) {
  odd <- setdiff(called_functions(formula), SAFE_FUNCTIONS)
  if (length(odd)) {
    formula_stop(formula, paste0("With safe = TRUE a formula may not call '", odd[1], "'. Compute the column beforehand."), odd[1])
  }
  # base::system and the like are calls to '::', which is not on the list; a name that is no function is harmless
  invisible()
}
