# Runs the Python and R chunks of one page and writes Markdown and figures:
#   Rscript knit.R page.Rmd folder
# RETICULATE_PYTHON names the Python that has relbounds. A chunk that fails fails the page.
args <- commandArgs(trailingOnly = TRUE)
page <- normalizePath(args[1])
name <- tools::file_path_sans_ext(basename(page))
dir.create(args[2], recursive = TRUE, showWarnings = FALSE)
# chunks run where the page is: in a copy, so that what they write is not left among the sources
file.copy(page, args[2])
setwd(args[2])
library(reticulate)

knitr::opts_knit$set(progress = FALSE, verbose = FALSE, rmarkdown.pandoc.to = "html")
fence <- function(text, open) {
  ticks <- "~~~"
  while (any(grepl(ticks, text, fixed = TRUE))) ticks <- paste0(ticks, "~")
  paste0("\n", ticks, open, "\n", sub("\n+$", "", paste(text, collapse = "\n")), "\n", ticks, "\n")
}
output <- function(x, options) {
  x <- sub("^\n+", "", x)
  if (!nzchar(trimws(x))) return("")
  fence(x, "{code-block} text\n:class: output\n")
}
knitr::knit_hooks$set(
  source = function(x, options) fence(x, if (options$engine == "R") "r" else tolower(options$engine)),
  output = output,
  message = output,
  warning = output,
  plot = function(x, options) {
    said <- if (is.null(options$fig.alt)) options$fig.cap else options$fig.alt
    said <- if (is.null(said)) paste("Figure made by the code above:", name) else said
    paste0("\n```{figure} ", knitr::opts_knit$get("base.url"), paste(x, collapse = "."), "\n:alt: ", said[1],
           "\n:width: ", round(96 * options$fig.width), "px\n\n", options$fig.cap, "\n```\n")
  },
  # which language a piece is in, for the tabs
  chunk = function(x, options) {
    if (!nzchar(trimws(x))) return("")
    paste0("\n<!-- chunk ", tolower(options$engine), " -->\n", x, "\n<!-- end -->\n")
  }
)
defaults <- list(comment = "", dev = "png", dpi = 150, fig.path = paste0("figures/", name, "-"), fig.width = 6,
                 fig.height = 3.6, error = FALSE, collapse = FALSE)
knitr::opts_chunk$set(defaults)
set.seed(1)
knitr::knit(basename(page), paste0(name, ".md"), quiet = TRUE, envir = new.env(parent = globalenv()))
