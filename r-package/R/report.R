#' Tables for papers
#'
#' `to_latex()`, `to_markdown()` and `to_html()` give the table of a fit as text, made by the Python side. `xtable()`
#' and [knitr::kable()] work as well: the latter on `as.data.frame(fit)` or `relevance(fit)`. In R Markdown, a fit that
#' stands alone in a chunk prints as a table.
#'
#' @param object,x A fit of [relbounds()].
#' @param file Where to write; `NULL` writes nothing.
#' @param caption,label,align,digits,display,auto As in `xtable::xtable()`.
#' @param ... Passed to the function of the same name in Python, for instance `caption` and `label`.
#' @return The text, invisibly where a file was written.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1, probes = 10)
#' cat(to_markdown(fit))
#' cat(to_latex(fit, caption = "What severity hangs on"))
#' @export
to_latex <- function(object, ...) UseMethod("to_latex")

#' @rdname to_latex
#' @export
to_markdown <- function(object, ...) UseMethod("to_markdown")

#' @rdname to_latex
#' @export
to_html <- function(object, ...) UseMethod("to_html")

export_table <- function(object, form, file, options) {
  text <- python_call("export", serialized(object), form, options)
  class(text) <- c("relbounds_text", "character")
  if (is.null(file)) return(text)
  writeLines(text, file)
  invisible(text)
}

#' @rdname to_latex
#' @export
to_latex.relbounds <- function(object, file = NULL, ...) export_table(object, "latex", file, named_list(...))

#' @rdname to_latex
#' @export
to_markdown.relbounds <- function(object, file = NULL, ...) export_table(object, "markdown", file, named_list(...))

#' @rdname to_latex
#' @export
to_html.relbounds <- function(object, file = NULL, ...) export_table(object, "html", file, named_list(...))

#' @export
print.relbounds_text <- function(x, ...) {
  cat(x, sep = "\n")
  invisible(x)
}

# An empty list would arrive in Python as a list, not as a dictionary.
named_list <- function(...) {
  out <- list(...)
  if (length(out)) out else NULL
}

serialized <- function(object) {
  if (is.null(object$serialized)) {
    relbounds_stop("This fit does not carry its Python side, so this cannot be computed. Fit it again.")
  }
  object$serialized
}

paper_table <- function(x, digits = 3) {
  out <- bounds_table(x$table, digits)
  out <- data.frame(Feature = x$table$feature, out, check.names = FALSE, row.names = NULL)
  if (length(unique(x$table$part)) > 1) out <- cbind(out[1], Part = x$table$part, out[-1])
  out
}

#' @rdname to_latex
#' @exportS3Method knitr::knit_print
knit_print.relbounds <- function(x, digits = 3, ...) {
  table <- knitr::kable(paper_table(x, digits), align = paste0("l", strrep("r", ncol(paper_table(x, digits)) - 1)))
  lines <- summary_lines(x)
  knitr::asis_output(paste(c("", table, "", paste(lines, collapse = ".\n"), ""), collapse = "\n"))
}

#' @rdname to_latex
#' @exportS3Method xtable::xtable
xtable.relbounds <- function(x, caption = NULL, label = NULL, align = NULL, digits = NULL, display = NULL,
                             auto = FALSE, ...) {
  xtable::xtable(paper_table(x), caption = caption, label = label, align = align, digits = digits, display = display,
                 auto = auto, ...)
}
