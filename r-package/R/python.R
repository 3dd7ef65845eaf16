# The one door to Python. Nothing here starts Python until a function of the bridge is called.

# Holds the Python module once it is loaded.
bridge <- new.env(parent = emptyenv())

.onLoad <- function(libname, pkgname) {
  # Inside a Python process, that Python lends itself; reticulate need not look for another.
  if (identical(getOption("relbounds.host"), "rpy2")) return(invisible())
  declare_python()
  if (isNamespaceLoaded("parsnip")) try(relbounds_parsnip(), silent = TRUE) else
    setHook(packageEvent("parsnip", "onLoad"), function(...) try(relbounds_parsnip(), silent = TRUE))
  # Tells reticulate which environment to prefer when Python starts. If Python runs already, the choice is made, and
  # a delayed import would load at once: then the first call must do it, and say what is missing.
  if (!reticulate::py_available(initialize = FALSE)) {
    reticulate::import("relbounds", delay_load = list(priority = 10, environment = "r-relbounds"))
  }
}

python_module <- function() {
  if (is.null(bridge$module)) {
    bridge$module <- tryCatch(
      import_bridge(),
      error = function(e) relbounds_stop(python_missing(conditionMessage(e)), class = "relbounds_python_error")
    )
    # Worker processes of n_jobs > 1 end with R.
    reg.finalizer(bridge, function(held) try(held$module$farewell(), silent = TRUE), onexit = TRUE)
  }
  bridge$module
}

# Python looks in the working directory first; a folder called relbounds there must not be taken for the package.
import_bridge <- function() {
  sys <- reticulate::import("sys", convert = TRUE)
  path <- sys$path
  on.exit(sys$path <- path)
  sys$path <- as.list(setdiff(path, c("", ".")))
  reticulate::import("relbounds.interop.bridge", convert = TRUE)
}

# Newer reticulate asks packages to declare what they need; older ones know nothing of it.
declare_python <- function(require_python = python_require(), requirement = python_requirement()) {
  if (is.null(require_python) || is.null(requirement)) return(invisible(FALSE))
  # If Python runs already, the requirement may come too late; the first call says so then.
  tryCatch({
    require_python(requirement, python_version = ">=3.11")
    invisible(TRUE)
  }, error = function(e) invisible(FALSE))
}

python_require <- function() {
  if ("py_require" %in% getNamespaceExports("reticulate")) getExportedValue("reticulate", "py_require")
}

# A name, a path or a wheel, as pip understands it. NULL leaves reticulate's own choice alone.
python_requirement <- function() getOption("relbounds.python_package", python_source(NULL))

# The Python package that belongs to this R package: the wheel that was built with it, or the folder of the clone that
# it was installed from. NULL where there is neither.
own_python_package <- function(folder = system.file("python", package = "relbounds")) {
  if (!nzchar(folder)) return(NULL)
  wheels <- sort(list.files(folder, "[.]whl$", full.names = TRUE), decreasing = TRUE)
  if (length(wheels)) return(normalizePath(wheels[1]))
  note <- file.path(folder, "clone.txt")
  if (!file.exists(note)) return(NULL)
  clone <- readLines(note, n = 1L, warn = FALSE)
  if (length(clone) && file.exists(file.path(clone, "pyproject.toml"))) clone
}

# What RETICULATE_PYTHON says, and what is wrong with it, if anything.
named_python <- function(named = Sys.getenv("RETICULATE_PYTHON")) {
  if (!nzchar(named) || identical(named, "managed")) return(list(path = "", problem = ""))
  problem <- if (!file.exists(path.expand(named))) {
    paste0("The environment variable RETICULATE_PYTHON names '", named, "', which does not exist.")
  } else if (dir.exists(named)) {
    paste0("The environment variable RETICULATE_PYTHON names '", named, "', which is a folder, not a Python.")
  } else {
    ""
  }
  list(path = named, problem = problem)
}

# One message for whatever is missing, with the command to run.
python_missing <- function(detail = "", config = python_found(), named = named_python()) {
  detail <- sub("[.]$", "", sub("\n.*", "", sub("^(ModuleNotFound|Import)?Error: ", "", trimws(detail))))
  if (nzchar(named$problem)) {
    return(paste0(named$problem, "\nCorrect it, or unset it with Sys.unsetenv(\"RETICULATE_PYTHON\") and restart R; ",
                  "install_relbounds() makes an environment that is then found by itself."))
  }
  old <- !is.null(config) && utils::compareVersion(as.character(config$version), "3.11") < 0
  what <- if (is.null(config)) {
    paste0("What computes for relbounds was not found", if (nzchar(detail)) paste0(": ", detail), ".")
  } else if (old) {
    paste0("Python ", config$version, " is in use (", config$python, "); relbounds needs 3.11 or newer.")
  } else if (grepl("No module named '?relbounds", detail)) {
    paste0("The Python in use (", config$python, ") does not have relbounds.")
  } else {
    paste0("relbounds cannot be loaded by the Python in use, ", config$python, ": ", detail, ".")
  }
  cause <- if (nzchar(named$path)) {
    paste0("\nIt is in use because the environment variable RETICULATE_PYTHON names it; unset that to let another be found.")
  }
  paste0(what, cause, "\nRun install_relbounds() once and restart R; or, before the first fit, name a Python that has it: ",
         "reticulate::use_virtualenv(\"path\").")
}

# What reticulate runs, or NULL where nothing runs.
python_found <- function() {
  tryCatch(if (reticulate::py_available(initialize = FALSE)) reticulate::py_config(), error = function(e) NULL)
}

# Call one function of the bridge: Python's errors and warnings arrive as R conditions, without a traceback.
python_call <- function(name, ...) {
  module <- python_module()
  answer <- tryCatch(
    module$call(name, list(...)),
    error = function(e) relbounds_stop(trimws(conditionMessage(e)), class = "relbounds_python_error")
  )
  for (w in unique(unlist(answer$warnings))) relbounds_warn(w)
  if (!is.null(answer$error)) relbounds_stop(answer$error$message, class = paste0("relbounds_", answer$error$type))
  answer$value
}

#' Is the Python side there?
#'
#' `relbounds_config()` tells which Python is used, and whether it has everything. `relbounds_available()` is the
#' short answer, for scripts and for examples. Both start Python if it does not run yet.
#'
#' @return `relbounds_config()`: a list of class `relbounds_config` with elements `available`, `python` (path),
#'   `python_version`, `relbounds` (version of the Python package), `packages` (named vector of versions, `NA` where
#'   absent), `reticulate`, `named` (what RETICULATE_PYTHON says) and `problem` (`NULL`, or one sentence on what to do). `relbounds_available()`: `TRUE` or
#'   `FALSE`.
#' @seealso [install_relbounds()]
#' @examples
#' relbounds_available()
#' relbounds_config()
#' @export
relbounds_config <- function() {
  why <- ""
  config <- tryCatch(
    if (reticulate::py_available(initialize = TRUE)) reticulate::py_config(),
    error = function(e) {
      why <<- conditionMessage(e)
      NULL
    }
  )
  named <- named_python()
  out <- list(
    available = FALSE, python = if (nzchar(named$problem)) named$path else config$python, python_version = as.character(config$version), relbounds = NULL,
    packages = NULL, reticulate = as.character(utils::packageVersion("reticulate")),
    named = named$path, problem = NULL
  )
  if (is.null(config)) {
    out$problem <- python_missing(why, NULL)
    return(structure(out, class = "relbounds_config"))
  }
  versions <- tryCatch(python_call("versions"), relbounds_error = conditionMessage)
  if (is.character(versions)) {
    out$problem <- versions
  } else {
    out$available <- TRUE
    out$relbounds <- versions$relbounds
    out$packages <- unlist(versions$packages)
    out$packages[!nzchar(out$packages)] <- NA
    absent <- names(out$packages)[is.na(out$packages)]
    absent <- setdiff(absent, unlist(versions$optional))
    if (length(absent)) {
      out$available <- FALSE
      out$problem <- paste0("Python lacks ", quote_names(absent), ". Run install_relbounds().")
    } else if (utils::compareVersion(sub("[^0-9.].*", "", out$relbounds), minor_version()) < 0) {
      out$problem <- paste0("The Python package is version ", out$relbounds, ", older than this R package (",
                            utils::packageVersion("relbounds"), "). Run install_relbounds() for the new one.")
    }
  }
  structure(out, class = "relbounds_config")
}

minor_version <- function() {
  v <- unlist(utils::packageVersion("relbounds"))
  paste(v[1:2], collapse = ".")
}

#' @rdname relbounds_config
#' @export
relbounds_available <- function() isTRUE(suppressWarnings(relbounds_config())$available)

#' @export
print.relbounds_config <- function(x, ...) {
  check_arguments(PRINT_ARGUMENTS)
  show <- function(label, value) cat(sprintf("%-12s %s\n", label, if (length(value)) value else "not found"))
  show("Python:", x$python)
  show("Version:", x$python_version)
  if (nzchar(x$named)) show("Named by:", "the environment variable RETICULATE_PYTHON")
  show("relbounds:", x$relbounds)
  show("reticulate:", x$reticulate)
  if (length(x$packages)) {
    versions <- ifelse(is.na(x$packages), "absent", x$packages)
    writeLines(strwrap(paste0("Packages:    ", paste(names(x$packages), versions, collapse = ", ")), 78, exdent = 13))
  }
  cat(if (is.null(x$problem)) "Everything is there.\n" else paste0(x$problem, "\n"))
  invisible(x)
}

#' Install the Python side
#'
#' Makes a Python virtual environment and installs what computes for this package into it. Once is enough: the R package
#' finds the environment by its name in every later session. The Python package that belongs to this R package comes with
#' it, or with the clone that it was installed from; only what that needs (numpy and the like) is fetched.
#'
#' @param envname Name of the virtual environment, or a path to one.
#' @param package What to install: `NULL` is the Python package that belongs to this R package. Or a path to its
#'   sources (with a slash in it, such as `"./relbounds"`), a wheel, a URL, or a name to look up in the package index.
#' @param python Path to the Python that the environment is made from (3.11 or newer); `NULL` looks for one.
#' @param extras Optional parts: `"forest"` ([forest_relevance()]), `"fast"` (compiled kernel machines), `"highs"`
#'   (another solver), `"word"` ([to_word()]), `"explorer"` ([explorer()]).
#' @param new Make the environment anew if it exists?
#' @param quiet Say nothing? Otherwise one line tells what is done, and one that it is done.
#' @param ... Not used; an unknown argument is an error.
#' @return The path of the environment, invisibly.
#' @seealso [relbounds_config()]
#' @examples
#' \dontrun{
#' install_relbounds()
#' install_relbounds(extras = "forest")
#' }
#' @export
install_relbounds <- function(envname = "r-relbounds", package = NULL, python = NULL, extras = character(), new = FALSE,
                              quiet = FALSE, ...) {
  check_arguments()
  source <- python_source(if (is.null(package)) getOption("relbounds.python_package") else package)
  if (length(extras)) {
    strings(extras, "extras")
    source <- paste0(source, "[", paste(extras, collapse = ","), "]")
  }
  say <- function(...) if (!quiet) message(...)
  exists <- as_relbounds_error(reticulate::virtualenv_exists(envname))
  say("Installing ", sub("\\[.*", "", basename(source)), if (length(extras)) paste0(" with ", paste(extras, collapse = ", ")),
      " and what it needs into '", envname, "'; this takes a minute or two.")
  if (exists && new) {
    unlink(dirname(dirname(reticulate::virtualenv_python(envname))), recursive = TRUE)
    exists <- FALSE
  }
  if (!exists) make_environment(envname, python)
  path <- reticulate::virtualenv_python(envname)
  done <- run_quietly(path, c("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", shQuote(source)))
  if (done$status) relbounds_stop("It could not be installed. The installer said:\n", utils::tail(done$said, 8))
  say("Installed. ", if (envname == "r-relbounds") "Restart R and it will be found." else
    paste0("Restart R and call reticulate::use_virtualenv(\"", envname, "\") first."))
  named <- Sys.getenv("RETICULATE_PYTHON")
  if (nzchar(named) && normalizePath(named, mustWork = FALSE) != normalizePath(path, mustWork = FALSE)) {
    relbounds_warn("The environment variable RETICULATE_PYTHON names '", named, "', which will be used instead of what was ",
                   "installed now. Unset it: Sys.unsetenv(\"RETICULATE_PYTHON\"), or the line in .Renviron.")
  }
  invisible(dirname(dirname(path)))
}

# What pip is told to install. A bare name is never a folder that happens to be here.
python_source <- function(package) {
  if (is.null(package)) {
    own <- own_python_package()
    return(if (is.null(own)) "relbounds" else own)
  }
  if (length(package) != 1 || !is.character(package)) {
    relbounds_stop("'package' must be one string: a path with a slash in it, a wheel, a URL or a name.",
                   class = "relbounds_option_error")
  }
  is_path <- (grepl("[/\\\\]|[.]whl$|[.]tar[.]gz$", package) || package %in% c(".", "..")) && !grepl("^[a-z+]+://|@", package)
  if (!is_path) return(package)
  source <- path.expand(package)
  if (!file.exists(source)) {
    relbounds_stop("'", package, "' does not exist. Give the path of the sources or of a wheel, or leave 'package' out.")
  }
  source <- normalizePath(source)
  if (dir.exists(source) && !file.exists(file.path(source, "pyproject.toml"))) {
    relbounds_stop("'", source, "' has no pyproject.toml: it does not hold the sources of the Python package.")
  }
  source
}

make_environment <- function(envname, python) {
  if (is.null(python)) python <- Sys.which(c("python3", "python"))
  python <- path.expand(python)[nzchar(python)]
  good <- Filter(function(p) {
    run_quietly(p, c("-c", shQuote("import sys, venv; sys.exit(sys.version_info < (3, 11))")))$status == 0
  }, python)
  hint <- "\nGive the path of a Python 3.11 or newer that has 'venv': install_relbounds(python = \"/usr/bin/python3\")."
  if (!length(good)) relbounds_stop("No Python 3.11 or newer was found to make the environment from.", hint)
  folder <- if (grepl("[/\\\\]", envname)) path.expand(envname) else file.path(reticulate::virtualenv_root(), envname)
  done <- run_quietly(good[1], c("-m", "venv", shQuote(folder)))
  if (done$status) relbounds_stop("The virtual environment could not be made:\n", paste(utils::tail(done$said, 5), collapse = "\n"), hint)
}

# Runs a command; what it says is kept for the case that it fails.
run_quietly <- function(command, arguments) {
  said <- tryCatch(suppressWarnings(system2(command, arguments, stdout = TRUE, stderr = TRUE)),
                   error = function(e) structure(conditionMessage(e), status = 1L))
  status <- attr(said, "status")
  list(said = paste(said, collapse = "\n"), status = if (is.null(status)) 0L else status)
}

# Numbers travel as raw bytes: exact, quick, and independent of which NumPy the two sides were built for.
pack <- function(x) if (!is.null(x)) writeBin(as.double(x), raw())
