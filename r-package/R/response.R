# The left side of a formula: what Python gets for it, and how predictions become what the response was.

# Where the response is looked up: between() is ours, and Surv() is survival's even where that is not attached.
response_env <- function(parsed) {
  env <- environment(parsed$formula)
  if (is.null(env)) env <- globalenv()
  called <- called_functions(parsed$response)
  if (!any(c("between", "Surv") %in% called)) return(env)
  env <- new.env(parent = env)
  if (is_call_to(parsed$response, "between")) env$between <- between_levels
  if ("Surv" %in% called && !exists("Surv", envir = env, mode = "function")) {
    if (!requireNamespace("survival", quietly = TRUE)) {
      relbounds_stop("Surv() on the left side needs the package survival, which is not installed.")
    }
    env$Surv <- getExportedValue("survival", "Surv")
  }
  env
}

# between(lo, hi): grades known to lie between two levels, as a matrix of two columns that model.frame() can subset.
between_levels <- function(lo, hi) {
  values <- list(lo, hi)
  factors <- vapply(values, is.factor, NA)
  if (any(factors)) {
    if (!all(factors) || !identical(levels(lo), levels(hi)) || !is.ordered(lo) || !is.ordered(hi)) {
      relbounds_stop("between(lo, hi): both must be ordered factors with the same levels, or both numbers.")
    }
    known <- levels(lo)
    codes <- cbind(lo = as.integer(lo), hi = as.integer(hi))
  } else {
    if (!all(vapply(values, is.numeric, NA))) {
      relbounds_stop("between(lo, hi): both must be ordered factors with the same levels, or both numbers.")
    }
    known <- sort(unique(c(lo[is.finite(lo)], hi[is.finite(hi)])))
    clip <- function(v) pmin(pmax(v, min(known)), max(known))
    codes <- cbind(lo = match(clip(lo), known), hi = match(clip(hi), known))
  }
  if (any(codes[, 1] > codes[, 2], na.rm = TRUE)) {
    at <- which(codes[, 1] > codes[, 2])[1]
    relbounds_stop("between(lo, hi): in row ", at, " the lower level is above the upper one. Swap them.")
  }
  structure(codes, known = known, class = "relbounds_between")
}

#' @export
`[.relbounds_between` <- function(x, i, j, ..., drop = FALSE) {
  structure(unclass(x)[i, , drop = FALSE], known = attr(x, "known"), class = "relbounds_between")
}

#' @export
is.na.relbounds_between <- function(x) is.na(unclass(x)[, 1]) | is.na(unclass(x)[, 2])

#' @export
as.data.frame.relbounds_between <- as.data.frame.matrix

FAMILIES <- c("auto", "ordinal", "binary", "regression", "nominal", "survival")

# glm() takes family objects; one line says what is meant here.
check_family <- function(family, known = FAMILIES) {
  if (inherits(family, "family") || is.function(family)) {
    name <- if (inherits(family, "family")) family$family else tryCatch(family()$family, error = function(e) "")
    meant <- c(binomial = "binary", quasibinomial = "binary", gaussian = "regression", multinomial = "nominal")[name]
    relbounds_stop("'family' is a word here, not a family object of glm(): ",
                   if (!is.na(meant)) paste0("say family = \"", meant, "\", or leave it out") else "leave it out",
                   "; the response decides.", class = "relbounds_option_error")
  }
  one_of(family, known, "family")
}

# The response as Python gets it: codes 1..L with level names, plain numbers, ranges of levels, or times.
# `unordered`: levels without an order will do.
response_codes <- function(y, name, family, unordered = FALSE) {
  said <- paste0("The response '", name, "' ")
  if (is.null(y)) relbounds_stop(said, "is missing.")
  if (inherits(y, "Surv")) return(survival_response(y, said))
  if (inherits(y, "relbounds_between")) {
    known <- attr(y, "known")
    return(list(codes = unclass(y)[, 2], interval = matrix(as.double(unclass(y)), ncol = 2), levels = known, type = "between",
                ordered = TRUE, all_levels = as.character(known)))
  }
  if (is.matrix(y) && ncol(y) > 1) {
    relbounds_stop(said, "has ", ncol(y), " columns; one is needed. Where they count cases and controls, give one row for each, ",
                   "as in rbind(transform(data, case = 1, n = cases), transform(data, case = 0, n = controls)), and say ",
                   "case ~ ... with frequency = n.")
  }
  unordered <- unordered || identical(family, "nominal")
  if (is.character(y) && (unordered || length(unique(y)) == 2)) y <- factor(y)
  if (is.character(y)) {
    shown <- paste0("\"", utils::head(unique(y), 3), "\"", collapse = ", ")
    relbounds_stop(said, "is text, which has no order. Use ordered(", name, ", levels = c(", shown,
                   if (length(unique(y)) > 3) ", ...", ")) with the levels from lowest to highest, or family = \"nominal\" ",
                   "for classes without order.")
  }
  if (inherits(y, c("Date", "POSIXt", "difftime"))) {
    relbounds_stop(said, "is a ", class(y)[1], ". Turn it into numbers first, as in as.numeric(", name, ").")
  }
  if (is.logical(y)) return(list(codes = as.integer(y) + 1L, levels = c(FALSE, TRUE), type = "logical", ordered = FALSE))
  if (!is.factor(y)) {
    if (!is.numeric(y)) relbounds_stop(said, "must be a factor, truth values or numbers, not ", class(y)[1], ".")
    type <- if (is.integer(y)) "integer" else "number"
    return(list(codes = as.double(y), levels = NULL, type = type, ordered = FALSE))
  }
  present <- levels(y)[levels(y) %in% y]
  if (length(present) < 2) {
    relbounds_stop(said, "has one level only ('", present, "'). At least two must occur.")
  }
  if (!is.ordered(y) && length(present) > 2 && !unordered && !identical(family, "auto")) {
    relbounds_stop(said, "is a factor with ", length(present), " levels and no order. Use ordered(", name,
                   ", levels = c(", paste0("\"", utils::head(present, 3), "\"", collapse = ", "),
                   if (length(present) > 3) ", ...", ")) with the levels from lowest to highest, or family = \"nominal\".")
  }
  if (identical(family, "regression")) {
    relbounds_stop(said, "is a factor; family = \"regression\" needs numbers. Use as.numeric(as.character(", name,
                   ")) if its labels are numbers.")
  }
  list(codes = match(as.character(y), present), levels = present, type = "factor", ordered = is.ordered(y),
       all_levels = levels(y))
}

survival_response <- function(y, said) {
  type <- attr(y, "type")
  if (type != "right") {
    what <- c(counting = "left truncation (start, stop)", left = "left censoring", interval = "interval censoring",
              interval2 = "interval censoring", mright = "several kinds of events", mcounting = "several kinds of events")
    relbounds_stop(said, "has ", if (type %in% names(what)) what[[type]] else type, ", which is not possible here. Use ",
                   "Surv(time, status) with right-censored times.")
  }
  y <- unclass(y)
  if (any(y[, 1] <= 0)) relbounds_stop(said, "has times of 0 or less. Survival times must be positive.")
  if (!any(y[, 2] > 0)) relbounds_stop(said, "has no event: every time is censored.")
  list(codes = as.double(y[, 1]), event = as.double(y[, 2] > 0), levels = NULL, type = "survival", ordered = TRUE)
}

# Levels from codes, as the response was.
as_response <- function(object, code, names = NULL) {
  labels <- object$levels[code]
  out <- switch(object$response$type,
    factor = ,
    between = factor(as.character(labels), levels = object$response$all_levels, ordered = object$response$ordered),
    survival = factor(labels, levels = object$levels, ordered = TRUE),
    logical = as.logical(labels),
    if (is.numeric(object$levels)) as.numeric(labels) else labels
  )
  stats::setNames(out, names)
}
