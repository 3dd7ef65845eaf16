# Renders every vignette into build/vignettes: Rscript vignettes/render.R [name ...]
# RETICULATE_PYTHON names the Python that has relbounds.
args <- commandArgs(trailingOnly = FALSE)
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", args, value = TRUE)[1])))
root <- dirname(here)
wanted <- commandArgs(trailingOnly = TRUE)

for (package in c("rmarkdown", "knitr", "reticulate")) {
  if (!requireNamespace(package, quietly = TRUE)) {
    cat("The vignettes are skipped: the R package", package, "is not installed.\n")
    quit(status = 0)
  }
}
if (!nzchar(Sys.getenv("RETICULATE_PYTHON"))) {
  Sys.setenv(RETICULATE_PYTHON = file.path(root, ".venv", "bin", "python"))
}
Sys.setenv(MPLBACKEND = "Agg", OMP_NUM_THREADS = "1", OPENBLAS_NUM_THREADS = "1")

# The vignettes show the R package of this tree, whatever else is installed.
library_dir <- file.path(tempdir(), "library")
dir.create(library_dir)
log <- tempfile()
status <- system2("R", c("CMD", "INSTALL", "--no-docs", "--no-test-load", paste0("--library=", library_dir),
                         file.path(root, "r-package")), stdout = log, stderr = log)
if (status != 0) stop(paste(readLines(log), collapse = "\n"))
.libPaths(c(library_dir, .libPaths()))
Sys.setenv(R_LIBS = paste(c(library_dir, Sys.getenv("R_LIBS")), collapse = .Platform$path.sep))

out <- file.path(root, "build", "vignettes")
dir.create(out, recursive = TRUE, showWarnings = FALSE)
files <- sort(list.files(here, pattern = "[.]Rmd$", full.names = TRUE))
if (length(wanted)) files <- files[tools::file_path_sans_ext(basename(files)) %in% wanted]
for (file in files) {
  started <- proc.time()[["elapsed"]]
  # a copy, so that nothing but the result is left behind; a process of its own, so that Python starts afresh
  work <- tempfile("vignette")
  dir.create(work)
  file.copy(c(file, file.path(here, c("_output.yml", "style.css"))), work)
  code <- sprintf("rmarkdown::render('%s', output_options = list(css = 'style.css'), quiet = TRUE)",
                  file.path(work, basename(file)))
  status <- system2("Rscript", c("-e", shQuote(code)))
  if (status != 0) stop("rendering ", basename(file), " failed", call. = FALSE)
  file.copy(list.files(work, pattern = "[.]html$", full.names = TRUE), out, overwrite = TRUE)
  unlink(work, recursive = TRUE)
  cat(sprintf("%-28s %5.1f s\n", basename(file), proc.time()[["elapsed"]] - started))
}
