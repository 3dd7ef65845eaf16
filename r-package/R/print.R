# Printing: like summary(polr), with bounds where polr has standard errors.

# Adding 0 turns -0 into 0, which readers would take for a sign.
format_bound <- function(x, digits = 3) {
  ifelse(is.na(x), "", formatC(round(x, digits) + 0, format = "f", digits = digits))
}

format_p <- function(p) ifelse(is.na(p), "", ifelse(p < 0.001, "<0.001", formatC(p, format = "f", digits = 3)))

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
    shown <- bounds_table(table, digits)
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

bounds_table <- function(table, digits = 3) {
  data.frame(
    Weight = format_bound(table$weight, digits), Lower = format_bound(table$lower, digits),
    Upper = format_bound(table$upper, digits), From = format_bound(table$signed_lower, digits),
    To = format_bound(table$signed_upper, digits), `P>noise` = format_p(table$p_noise), `P adj.` = format_p(table$p_adjusted),
    Relevance = ifelse(is.na(table$relevance), "", as.character(table$relevance)), Dir = table$direction,
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
  out <- object[c("call", "table", "family", "levels", "baseline", "intervals", "certificate", "notes", "header", "explained",
                  "options", "constraints", "nobs", "n_dropped", "na.action")]
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
    shown <- bounds_table(x$table[x$table$part == part, , drop = FALSE], digits)
    cat("\n", PART_TITLES[[part]], ":\n", sep = "")
    print(if (part == "adjust") shown[c("Weight", "From", "To", "Dir")] else shown[setdiff(names(shown), c("From", "To"))], quote = FALSE)
  }
  cat("---\nLower, Upper: least and most relevance in any equally good model, as shares of the norm.\n",
      "irrelevant: not distinguishable from noise.\n", sep = "")
  if (length(x$thresholds)) {
    cat("\n", if (x$family == "regression") "Intercept" else "Thresholds", ":\n", sep = "")
    print(x$thresholds, digits = digits + 1)
  }
  cat("\n")
  for (line in summary_lines(x)) writeLines(strwrap(line, 80, exdent = 2))
  if (x$n_dropped) cat("(", stats::naprint(x$na.action), ")\n", sep = "")
  for (note in unique(c(x$explained, x$notes))) writeLines(strwrap(paste("Note:", note), 80, exdent = 2))
  invisible(x)
}

# Facts of the fit, as Python's summary has them; one line each for what belongs together.
summary_lines <- function(x) {
  b <- x$baseline
  fmt <- function(v) format(signif(v, 4))
  o <- x$options
  number <- function(name, v) if (length(v) && is.numeric(v)) paste0("; ", name, ": ", fmt(v))
  c(
    paste0("Family: ", family_words(x), "; ", x$nobs, " observations; ", class_counts(x$table)),
    paste0("C: ", fmt(b$C), number("gamma", b$gamma), number("epsilon", b$epsilon), "; norm: ", fmt(b$mu), "; loss: ", fmt(b$rho),
           "; ", b$metric, ": ", format_bound(b$score), " (training)",
           if (length(b$cv_score)) paste0(", ", format_bound(b$cv_score), " (", o$cv, "-fold cross-validation)")),
    paste0("Tolerance: delta = ", fmt(b$delta), if (is.character(o$delta)) paste0(" (", o$delta, ")"), ", ", o$tolerance),
    noise_line(x),
    if (length(x$constraints)) paste0("What if: ", paste(x$constraints, collapse = "; "))
  )
}

noise_line <- function(x) {
  noise <- x$intervals[x$intervals$bound == "upper" & !nzchar(x$intervals$term), , drop = FALSE]
  o <- x$options
  reached <- if (nrow(noise)) {
    paste0("Noise reaches ", paste0(format_bound(noise$upper), if (nrow(noise) > 1) paste0(" (", noise$part, ")"), collapse = ", "), "; ")
  }
  how <- switch(o$control,
    published = paste0("level ", o$level, ", probes: ", paste(noise$probes, "of", noise$drawn, "drawn", collapse = " + ")),
    paste0(c(fwer = "family-wise error rate", fdr = "false discovery rate")[[o$control]], " at most ", o$alpha, ", ",
           x$baseline$permutations, " permutations, ", x$baseline$refits, " refits")
  )
  paste0(reached, how, "; seed ", o$seed)
}
