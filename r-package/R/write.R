# Tables and reports that leave R.

#' Tables for papers
#'
#' `to_latex()`, `to_markdown()`, `to_html()` and `to_csv()` give the table of a fit as text, `to_word()` writes it to
#' a Word document (`install_relbounds(extras = "word")`). `xtable()` and [knitr::kable()] work as well: the latter on
#' `as.data.frame(fit)` or `relevance(fit)`. In R Markdown, a fit that stands alone in a chunk prints as a table.
#' Names and levels are escaped, so that whatever stands in the data is text in the table.
#'
#' @param object,x A fit of [relbounds()], [forest_relevance()] or [svor()].
#' @param file Where to write; `NULL` writes nothing.
#' @param caption,label Caption and label of the table.
#' @param digits Digits of bounds.
#' @param align,display,auto As in `xtable::xtable()`.
#' @param ... Further options of the table, by name; an unknown one is an error.
#' @return The text, invisibly where a file was written; `to_word()` the path, invisibly.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
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

#' @rdname to_latex
#' @export
to_csv <- function(object, ...) UseMethod("to_csv")

#' @rdname to_latex
#' @export
to_word <- function(object, ...) UseMethod("to_word")

export_table <- function(object, form, file, ...) {
  given <- list(...)
  if (length(given) && (is.null(names(given)) || any(!nzchar(names(given))))) stop_unknown("", "file")
  text <- ask(object, paste0("to_", form), ...)
  class(text) <- c("relbounds_text", "character")
  if (is.null(file)) return(text)
  con <- file(path.expand(one_string(file, "file")), "wb", encoding = "UTF-8")
  on.exit(close(con))
  writeLines(enc2utf8(text), con, useBytes = TRUE)
  invisible(text)
}

#' @rdname to_latex
#' @export
to_latex.relbounds <- function(object, file = NULL, ...) export_table(object, "latex", file, ...)

#' @rdname to_latex
#' @export
to_markdown.relbounds <- function(object, file = NULL, ...) export_table(object, "markdown", file, ...)

#' @rdname to_latex
#' @export
to_html.relbounds <- function(object, file = NULL, ...) export_table(object, "html", file, ...)

#' @rdname to_latex
#' @export
to_csv.relbounds <- function(object, file = NULL, ...) export_table(object, "csv", file, ...)

#' @rdname to_latex
#' @export
to_word.relbounds <- function(object, file, ...) {
  invisible(ask(object, "to_word", path = path.expand(one_string(file, "file")), ...))
}

#' @rdname to_latex
#' @export
to_latex.relbounds_forest <- to_latex.relbounds

#' @rdname to_latex
#' @export
to_latex.svor <- to_latex.relbounds

#' @rdname to_latex
#' @export
to_markdown.relbounds_forest <- to_markdown.relbounds

#' @rdname to_latex
#' @export
to_markdown.svor <- to_markdown.relbounds

#' @rdname to_latex
#' @export
to_html.relbounds_forest <- to_html.relbounds

#' @rdname to_latex
#' @export
to_html.svor <- to_html.relbounds

#' @rdname to_latex
#' @export
to_csv.relbounds_forest <- to_csv.relbounds

#' @rdname to_latex
#' @export
to_csv.svor <- to_csv.relbounds

#' @rdname to_latex
#' @export
to_word.relbounds_forest <- to_word.relbounds

#' @rdname to_latex
#' @export
to_word.svor <- to_word.relbounds

#' @export
print.relbounds_text <- function(x, ...) {
  check_arguments(PRINT_ARGUMENTS)
  cat(x, sep = "\n")
  invisible(x)
}

#' The methods paragraph of a paper
#'
#' What was done, in words that a journal accepts, with every setting, the versions and the papers behind the method.
#'
#' @param object A fit of [relbounds()], [svor()] or [forest_relevance()].
#' @param ... Not used; an unknown argument is an error.
#' @return A string; it prints as a paragraph.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + bmi + crp, data = severity, C = 1)
#' methods_text(fit)
#' @export
methods_text <- function(object, ...) UseMethod("methods_text")

#' @rdname methods_text
#' @export
methods_text.relbounds <- function(object, ...) {
  check_arguments()
  text <- ask(object, "methods_text")
  # a reader wants to know what the author typed into
  text <- sub("under Python [0-9.]+", paste0("by its R package under R ", getRversion()), text)
  structure(text, class = c("relbounds_paragraph", "character"))
}

#' @rdname methods_text
#' @export
methods_text.relbounds_forest <- methods_text.relbounds

#' @rdname methods_text
#' @export
methods_text.svor <- methods_text.relbounds

#' @export
print.relbounds_paragraph <- function(x, ...) {
  check_arguments(PRINT_ARGUMENTS)
  writeLines(strwrap(unlist(strsplit(unclass(x), "\n")), 80))
  invisible(x)
}

#' Report of a fit as one HTML file
#'
#' Summary, figures, groups, description of the data, settings and versions, in one file that opens without a network.
#'
#' @param object A fit of [relbounds()].
#' @param file Where to write: a name that ends in `.html`.
#' @param title Title of the report.
#' @param groups Group the features? `NULL` decides by their number.
#' @param sweep Show bounds along the tolerance?
#' @param stability Number of subsamples for class frequencies; 0 leaves them out.
#' @param interactive Add a slider for each term that shows how all bounds answer as it is held? `NULL` does for up to 8
#'   terms: the work grows with the number of pairs.
#' @param ... Not used; an unknown argument is an error.
#' @return The path, invisibly.
#' @examplesIf relbounds::relbounds_available()
#' fit <- relbounds(severity ~ age + stiffness + crp, data = severity, C = 0.1, delta = 0.1)
#' write_report(fit, tempfile(fileext = ".html"), groups = FALSE)
#' @export
write_report <- function(object, ...) UseMethod("write_report")

#' @rdname write_report
#' @export
write_report.relbounds <- function(object, file, title = NULL, groups = NULL, sweep = FALSE, stability = 0,
                                   interactive = NULL, ...) {
  check_arguments()
  invisible(ask(object, "write_report", path = html_path(file), title = title, groups = groups, sweep = sweep,
                stability = stability, interactive = interactive))
}

#' @rdname write_report
#' @export
write_report.relbounds_forest <- function(object, file, title = NULL, ...) {
  check_arguments()
  invisible(ask(object, "write_report", path = html_path(file), title = title))
}

#' @rdname write_report
#' @export
write_report.svor <- write_report.relbounds_forest

html_path <- function(file) {
  file <- path.expand(one_string(file, "file"))
  ending <- tolower(sub(".*[.]", "", basename(file)))
  if (!ending %in% c("html", "htm")) {
    relbounds_stop("write_report() writes HTML; '", basename(file), "' does not end in .html. For a table in another form ",
                   "use to_word(), to_latex(), to_markdown() or to_csv(); for a figure plot() and pdf() or png().",
                   class = "relbounds_option_error")
  }
  file
}

paper_table <- function(x, digits = 3) {
  out <- bounds_table(x$table, digits, x$smallest_p)
  out <- data.frame(Feature = x$table$feature, out, check.names = FALSE, row.names = NULL)
  if (length(unique(x$table$part)) > 1) out <- cbind(out[1], Part = x$table$part, out[-1])
  out
}

#' @rdname to_latex
#' @exportS3Method knitr::knit_print
knit_print.relbounds <- function(x, digits = 3, ...) {
  shown <- paper_table(x, digits)
  # names and levels come from the data: in a document they must stay text
  for (column in intersect(c("Feature", "Part"), names(shown))) shown[[column]] <- escape_markdown(shown[[column]])
  table <- knitr::kable(shown, align = paste0("l", strrep("r", ncol(shown) - 1)), escape = FALSE, format = "pipe")
  header <- unlist(x$header)
  said <- escape_markdown(c(paste(paste0(names(header), ": ", header), collapse = "; "), x$notes))
  knitr::asis_output(paste(c("", paste(table, collapse = "\n"), said, ""), collapse = "\n\n"))
}

escape_markdown <- function(x) {
  x <- gsub("&", "&amp;", x, fixed = TRUE)
  x <- gsub("<", "&lt;", x, fixed = TRUE)
  x <- gsub(">", "&gt;", x, fixed = TRUE)
  gsub("([\\\\`*_{}\\[\\]()#+!|$~^])", "\\\\\\1", x, perl = TRUE)
}

#' @rdname to_latex
#' @exportS3Method xtable::xtable
xtable.relbounds <- function(x, caption = NULL, label = NULL, align = NULL, digits = NULL, display = NULL,
                             auto = FALSE, ...) {
  xtable::xtable(paper_table(x), caption = caption, label = label, align = align, digits = digits, display = display,
                 auto = auto, ...)
}
