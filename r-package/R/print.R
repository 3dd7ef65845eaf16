# Printing: like summary(polr), with bounds where polr has standard errors.

# Adding 0 turns -0 into 0, which readers would take for a sign.
format_bound <- function(x, digits = 3) {
  ifelse(is.na(x), "", formatC(round(x, digits) + 0, format = "f", digits = digits))
}

# Never smaller than what the permutations can show.
format_p <- function(p, smallest = 0.001) {
  if (is.null(smallest)) smallest <- 0.001
  digits <- max(3, min(6, ceiling(-log10(smallest))))
  low <- paste0("<", formatC(smallest, format = "f", digits = digits, drop0trailing = TRUE))
  ifelse(is.na(p), "", ifelse(p < smallest, low, formatC(p, format = "f", digits = 3)))
}

# Classes of terms; levels are not counted again.
class_table <- function(table) {
  if ("row" %in% names(table)) table <- table[table$row == "term", , drop = FALSE]
  table(factor(as.character(table$relevance), levels = c("strong", "weak", "irrelevant", "fixed")))
}

class_counts <- function(table) {
  n <- class_table(table)
  paste0(n[["strong"]], " strong, ", n[["weak"]], " weak, ", n[["irrelevant"]], " irrelevant",
         if (n[["fixed"]]) paste0(", ", n[["fixed"]], " fixed"))
}

# The call as the user sees it; a long one in several lines, data that stand in it by value left out.
print_call <- function(call) {
  if (is.null(call)) return(invisible())
  for (name in names(call)) if (nzchar(name) && is.list(call[[name]])) call[[name]] <- as.name("...")
  cat("Call:\n", paste(deparse(call), collapse = "\n"), "\n", sep = "")
}

family_words <- function(x) {
  order <- if (x$family == "ordinal" && length(x$baseline$order)) x$baseline$order else x$options$order
  paste0(x$family, if (x$family == "ordinal") paste0(" (", order, " order)"))
}

PART_TITLES <- c(regular = "Features", adjust = "Adjusted for", privileged = "Privileged features")

#' @export
print.relbounds <- function(x, digits = 3, ...) {
  check_arguments(PRINT_ARGUMENTS)
  print_call(x$call)
  cat("\nFamily: ", family_words(x), "; ", x$nobs, " observations\n", sep = "")
  for (part in unique(x$table$part)) {
    table <- x$table[x$table$part == part, , drop = FALSE]
    shown <- bounds_table(shown_rows(table), digits)
    if (part == "adjust") {
      cat("\nAdjusted for (in every model):\n")
      print(shown[c("Weight", "From", "To")], quote = FALSE)
    } else {
      cat("\nRelevance of ", if (part == "privileged") "privileged ", "features (", class_counts(table), "):\n", sep = "")
      print(shown[c("Lower", "Upper", "Relevance")], quote = FALSE)
    }
  }
  if (length(x$constraints)) cat("\nWhat if: ", paste(x$constraints, collapse = "; "), "\n", sep = "")
  if (x$n_dropped) cat("\n(", stats::naprint(x$na.action), ")\n", sep = "")
  invisible(x)
}

# Levels are indented under their term.
row_labels <- function(table) {
  inside <- if ("row" %in% names(table)) table$row != "term" else rep(FALSE, nrow(table))
  make.unique(ifelse(inside, paste0("  ", table$feature), table$feature))
}

# Of a long table what is relevant is shown, and the ten other terms that could be used most; a note says so.
shown_rows <- function(table, longest = 150, more = 10) {
  if (nrow(table) <= longest) return(table)
  told <- unique(table$term[table$relevance != "irrelevant"])
  others <- table[!table$term %in% told, , drop = FALSE]
  most <- others$term[utils::head(order(-others$upper), more)]
  table[table$term %in% c(told, most), , drop = FALSE]
}

# An upper bound that is proved, but not reached by a model, is "at most".
upper_cells <- function(table, digits) {
  cells <- format_bound(table$upper, digits)
  if ("screened" %in% names(table)) ifelse(table$screened, paste("<=", cells), cells) else cells
}

bounds_table <- function(table, digits = 3, smallest = 0.001) {
  data.frame(
    Weight = format_bound(table$weight, digits), Lower = format_bound(table$lower, digits),
    Upper = upper_cells(table, digits), From = format_bound(table$signed_lower, digits),
    To = format_bound(table$signed_upper, digits), `P>noise` = format_p(table$p_noise, smallest),
    `P adj.` = format_p(table$p_adjusted, smallest), Relevance = ifelse(is.na(table$relevance), "", as.character(table$relevance)), Dir = table$direction,
    row.names = row_labels(table), check.names = FALSE
  )
}

#' Summary of a fit
#'
#' Prints like the summaries of `MASS::polr()` and `ordinal::clm()`, with relevance bounds where those have standard
#' errors.
#'
#' @param object,x A fit of [relbounds()], or its summary.
#' @param digits Digits of bounds and thresholds.
#' @param ... Not used; an unknown argument is an error.
#' @return A list of class `summary.relbounds`: `coefficients` (matrix of weights, bounds and p-values, privileged
#'   features below the regular ones), `table`, `thresholds`, and what the lines below the table are made of.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
#' summary(fit)
#' coef(summary(fit))
#' @export
summary.relbounds <- function(object, ...) {
  check_arguments()
  table <- object$table
  out <- object[c("call", "table", "family", "levels", "baseline", "intervals", "certificate", "notes", "header",
                  "options", "constraints", "nobs", "n_dropped", "na.action", "smallest_p")]
  columns <- c("weight", "lower", "upper", "p_noise", "p_adjusted")
  out$coefficients <- as.matrix(table[columns])
  dimnames(out$coefficients) <- list(make.unique(table$feature), c("Weight", "Lower", "Upper", "P>noise", "P adj."))
  out$thresholds <- object$baseline$thresholds
  structure(out, class = "summary.relbounds")
}

#' @rdname summary.relbounds
#' @export
print.summary.relbounds <- function(x, digits = 3, ...) {
  check_arguments(PRINT_ARGUMENTS)
  print_call(x$call)
  for (part in unique(x$table$part)) {
    shown <- bounds_table(shown_rows(x$table[x$table$part == part, , drop = FALSE]), digits, x$smallest_p)
    cat("\n", PART_TITLES[[part]], ":\n", sep = "")
    print(if (part == "adjust") shown[c("Weight", "From", "To", "Dir")] else shown[setdiff(names(shown), c("From", "To"))], quote = FALSE)
  }
  if (length(x$thresholds)) {
    cat("\n", if (x$family == "regression") "Intercept" else "Thresholds", ":\n", sep = "")
    print(x$thresholds, digits = digits + 1)
  }
  cat("\n")
  for (line in summary_lines(x)) writeLines(if (nchar(line) > 80) strwrap(line, 80, exdent = 2) else line)
  if (x$n_dropped) cat("(", stats::naprint(x$na.action), ")\n", sep = "")
  print_notes(x$notes)
  invisible(x)
}

print_notes <- function(notes) {
  if (!length(notes)) return(invisible())
  cat("\nNotes:\n")
  for (i in seq_along(notes)) writeLines(strwrap(paste0("[", i, "] ", notes[i]), 80, exdent = 4))
}

# The facts of the header, in two columns where they fit.
summary_lines <- function(x, width = 78) {
  said <- unlist(x$header)
  said <- said[!names(said) %in% c("Response", "Dropped (missing)")]
  cells <- paste0(names(said), ": ", said)
  half <- width %/% 2
  wide <- nchar(cells) >= half
  short <- cells[!wide]
  left <- short[seq_len(ceiling(length(short) / 2))]
  right <- c(short[-seq_along(left)], "")[seq_along(left)]
  c(trimws(paste0(formatC(left, width = -half), right), "right"), cells[wide],
    if (length(x$constraints)) paste0("What if: ", paste(x$constraints, collapse = "; ")))
}
