# Where the Python side is absent its tests are skipped; in the project's own check that would be an error.
need_python <- function() {
  if (relbounds_available()) return(invisible())
  if (nzchar(Sys.getenv("RELBOUNDS_REQUIRE_PYTHON"))) stop(relbounds_config()$problem)
  testthat::skip("The Python package relbounds is not available.")
}

# Fits of few rows, with nothing to tune, for tests that do not look at the numbers.
few <- severity[1:100, ]
quick <- function(formula, data = few, ..., C = 1, delta = 0.01, order = "explicit") {
  calmly(relbounds(formula, data, C = C, delta = delta, order = order, ...))
}

# Few rows make relbounds() warn of this and that.
calmly <- function(expr) suppressWarnings(expr, classes = "relbounds_warning")

# One small fit that many tests look at.
small_fit <- local({
  fit <- NULL
  function() {
    need_python()
    if (is.null(fit)) {
      fit <<- relbounds(severity ~ age + stiffness + platelets + crp + esr + bmi + sex, data = severity, C = 1)
    }
    fit
  }
})

# A fresh R session with the package as it is tested here; returns what it printed.
fresh_session <- function(code, env = character()) {
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  paths <- paste0(".libPaths(c(", paste(deparse(.libPaths()), collapse = ""), "))")
  writeLines(c(paths, code), script)
  suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), stdout = TRUE,
                           stderr = TRUE, env = env))
}

caught <- function(expr) tryCatch({
  expr
  NULL
}, error = function(e) e)

expect_problem <- function(expr, pattern, class = "relbounds_error") {
  problem <- caught(expr)
  testthat::expect_s3_class(problem, class)
  testthat::expect_match(conditionMessage(problem), pattern, fixed = TRUE)
  testthat::expect_no_match(conditionMessage(problem), "Traceback")
}

# A factor of three levels, a cluster of three visits, and classes without order, on few rows.
trial <- transform(few, site = factor(rep(c("A", "B", "C", "B"), 25)), patient = rep(1:25, each = 4))

# Draws into nowhere, as narrow as a figure gets.
draw <- function(expr, width = 400, height = 300) {
  file <- tempfile(fileext = ".png")
  grDevices::png(file, width, height)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  force(expr)
}

# Runs explorer() with a visitor in a process of its own: it loads the page, says that it is open, tries a wrong token,
# and stays silent from then on, so that the explorer ends by itself.
explorer_visited <- function(fit, script) {
  old <- options(browser = function(url) {
    writeLines(c(
      "import json, sys, urllib.error, urllib.request",
      "def status(url, body=None):",
      "    data = None if body is None else json.dumps(body).encode()",
      "    asked = urllib.request.Request(url, data, {'Content-Type': 'application/json'})",
      "    try: return urllib.request.urlopen(asked, timeout=30).status",
      "    except urllib.error.HTTPError as error: return error.code",
      "url = sys.argv[1]",
      "found = [status(url), status(url + 'open', {'page': 'r'}), status(url.rsplit('/', 2)[0] + '/wrong/')]",
      "open(sys.argv[2] + '.out', 'w').write('\\n'.join(map(str, found)) + '\\n')"
    ), script)
    system2(relbounds_config()$python, shQuote(c(script, url, script)), wait = FALSE)
  })
  on.exit(options(old))
  explorer(fit, open_browser = TRUE, idle = 5)
}
