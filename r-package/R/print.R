# Printing: like summary(polr), with bounds where polr has standard errors.

# Adding 0 turns -0 into 0, which readers would take for a sign.
format_bound <- function(x, digits = 3) formatC(round(x, digits) + 0, format = "f", digits = digits)

format_p <- function(p) ifelse(p < 0.001, "<0.001", formatC(p, format = "f", digits = 3))

class_counts <- function(table) {
  n <- table(factor(table$relevance, levels = c("strong", "weak", "irrelevant")))
  paste0(n[["strong"]], " strong, ", n[["weak"]], " weak, ", n[["irrelevant"]], " irrelevant")
}

# The call as the user sees it; a long one in several lines.
print_call <- function(call) {
  if (is.null(call)) return(invisible())
  cat("Call:\n", paste(deparse(call), collapse = "\n"), "\n", sep = "")
}

#' @export
print.relbounds <- function(x, digits = 3, ...) {
  print_call(x$call)
  for (part in unique(x$table$part)) {
    table <- x$table[x$table$part == part, , drop = FALSE]
    cat("\nRelevance of ", if (part == "privileged") "privileged ", "features (", class_counts(table), "):\n", sep = "")
    print(bounds_table(table, digits)[c("Lower", "Upper", "Relevance")], quote = FALSE)
  }
  if (length(x$constraints)) cat("\nWhat if: ", paste(x$constraints, collapse = "; "), "\n", sep = "")
  if (x$n_dropped) cat("\n(", stats::naprint(x$na.action), ")\n", sep = "")
  invisible(x)
}

bounds_table <- function(table, digits = 3) {
  data.frame(
    Weight = format_bound(table$weight, digits), Lower = format_bound(table$lower, digits),
    Upper = format_bound(table$upper, digits),
    `P>noise` = format_p(table$p_noise), `P adj.` = format_p(table$p_adjusted),
    Relevance = as.character(table$relevance), Dir = table$direction,
    row.names = make.unique(table$feature), check.names = FALSE
  )
}

#' Summary of a fit
#'
#' Prints like the summaries of `MASS::polr()` and `ordinal::clm()`, with relevance bounds where those have standard
#' errors.
#'
#' @param object,x A fit of [relbounds()], or its summary.
#' @param digits Digits of bounds and thresholds.
#' @param ... Not used.
#' @return A list of class `summary.relbounds`: `coefficients` (matrix of weights, bounds and p-values, privileged
#'   features below the regular ones), `table`, `thresholds`, and what the lines below the table are made of.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1, probes = 10)
#' summary(fit)
#' coef(summary(fit))
#' @export
summary.relbounds <- function(object, ...) {
  table <- object$table
  out <- object[c("call", "table", "family", "levels", "baseline", "intervals", "certificate", "notes", "options",
                  "constraints", "nobs", "n_dropped", "na.action")]
  columns <- c("weight", "lower", "upper", "p_noise", "p_adjusted")
  out$coefficients <- as.matrix(table[columns])
  dimnames(out$coefficients) <- list(make.unique(table$feature), c("Weight", "Lower", "Upper", "P>noise", "P adj."))
  out$thresholds <- object$baseline$thresholds
  structure(out, class = "summary.relbounds")
}

#' @rdname summary.relbounds
#' @export
print.summary.relbounds <- function(x, digits = 3, ...) {
  print_call(x$call)
  for (part in unique(x$table$part)) {
    title <- if (part == "privileged") "Privileged features" else "Features"
    cat("\n", title, ":\n", sep = "")
    print(bounds_table(x$table[x$table$part == part, , drop = FALSE], digits), quote = FALSE)
  }
  cat("---\nLower, Upper: least and most relevance in any equally good model, as shares of the norm\n")
  cat("\n", if (x$family == "regression") "Intercept" else "Thresholds", ":\n", sep = "")
  print(x$thresholds, digits = digits + 1)
  cat("\n")
  for (line in summary_lines(x)) writeLines(strwrap(line, 80, exdent = 2))
  if (x$n_dropped) cat("(", stats::naprint(x$na.action), ")\n", sep = "")
  for (note in x$notes) writeLines(strwrap(paste("Note:", note), 80, exdent = 2))
  invisible(x)
}

summary_lines <- function(x) {
  b <- x$baseline
  fmt <- function(v) format(signif(v, 4))
  noise <- x$intervals[x$intervals$bound == "upper", , drop = FALSE]
  o <- x$options
  c(
    paste0("Family: ", x$family, if (x$family == "ordinal") paste0(" (", o$order, " order)"), "; ", x$nobs,
           " observations; ", class_counts(x$table)),
    paste0("C: ", fmt(b$C), if (!is.null(b$gamma)) paste0("; gamma: ", fmt(b$gamma)),
           if (!is.null(b$epsilon)) paste0("; epsilon: ", fmt(b$epsilon)), "; norm: ", fmt(b$mu), "; loss: ", fmt(b$rho),
           "; ", b$metric, ": ", format_bound(b$score), " (training)",
           if (!is.null(b$cv_score)) paste0(", ", format_bound(b$cv_score), " (", o$cv, "-fold cross-validation)")),
    paste0("Tolerance: delta = ", fmt(b$delta), if (is.character(o$delta)) paste0(" (", o$delta, ")"), ", ", o$tolerance),
    paste0("Noise reaches ", paste0(format_bound(noise$upper), if (nrow(noise) > 1) paste0(" (", noise$part, ")"),
           collapse = ", "), " at level ", o$level, " (", paste(noise$probes, collapse = " + "), " probes, ",
           paste(noise$infeasible, collapse = " + "), " infeasible, seed ", o$seed, ")"),
    if (length(x$constraints)) paste0("What if: ", paste(x$constraints, collapse = "; "))
  )
}
