# The one door to Python. Nothing here starts Python until a function of the bridge is called.

# Holds the Python module once it is loaded.
bridge <- new.env(parent = emptyenv())

.onLoad <- function(libname, pkgname) {
  # Inside a Python process, that Python lends itself; reticulate need not look for another.
  if (identical(getOption("relbounds.host"), "rpy2")) return(invisible())
  declare_python()
  # Tells reticulate which environment to prefer when Python starts. If Python runs already, the choice is made, and
  # a delayed import would load at once: then the first call must do it, and say what is missing.
  if (!reticulate::py_available(initialize = FALSE)) {
    reticulate::import("relbounds", delay_load = list(priority = 10, environment = "r-relbounds"))
  }
}

python_module <- function() {
  if (is.null(bridge$module)) {
    bridge$module <- tryCatch(
      reticulate::import("relbounds.interop.bridge", convert = TRUE),
      error = function(e) relbounds_stop(python_missing(conditionMessage(e)), class = "relbounds_python_error")
    )
    # Worker processes of n_jobs > 1 end with R.
    reg.finalizer(bridge, function(held) try(held$module$farewell(), silent = TRUE), onexit = TRUE)
  }
  bridge$module
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
python_requirement <- function() getOption("relbounds.python_package", "relbounds")

# One message for whatever is missing, with the command to run.
python_missing <- function(detail = "", config = python_found()) {
  detail <- sub("[.]$", "", sub("\n.*", "", sub("^(ModuleNotFound|Import)?Error: ", "", trimws(detail))))
  old <- !is.null(config) && utils::compareVersion(as.character(config$version), "3.11") < 0
  what <- if (is.null(config)) {
    paste0("Python was not found", if (nzchar(detail)) paste0(": ", detail), ".")
  } else if (old) {
    paste0("Python ", config$version, " is in use (", config$python, "); relbounds needs 3.11 or newer.")
  } else if (grepl("No module named '?relbounds", detail)) {
    paste0("The Python in use (", config$python, ") does not have the package relbounds.")
  } else {
    paste0("The Python package relbounds cannot be loaded by ", config$python, ": ", detail, ".")
  }
  paste0(what, "\nRun install_relbounds() once and restart R; or, before the first fit, name a Python that has it: ",
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
  for (w in answer$warnings) relbounds_warn(in_r_words(w))
  if (!is.null(answer$error)) relbounds_stop(in_r_words(answer$error$message), class = paste0("relbounds_", answer$error$type))
  answer$value
}

#' Is the Python side there?
#'
#' `relbounds_config()` tells which Python is used, and whether it has everything. `relbounds_available()` is the
#' short answer, for scripts and for examples. Both start Python if it does not run yet.
#'
#' @return `relbounds_config()`: a list of class `relbounds_config` with elements `available`, `python` (path),
#'   `python_version`, `relbounds` (version of the Python package), `packages` (named vector of versions, `NA` where
#'   absent), `reticulate` and `problem` (`NULL`, or one sentence on what to do). `relbounds_available()`: `TRUE` or
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
  out <- list(
    available = FALSE, python = config$python, python_version = as.character(config$version), relbounds = NULL,
    packages = NULL, reticulate = as.character(utils::packageVersion("reticulate")), problem = NULL
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
  show <- function(label, value) cat(sprintf("%-12s %s\n", label, if (length(value)) value else "not found"))
  show("Python:", x$python)
  show("Version:", x$python_version)
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
#' Makes a Python virtual environment and installs the Python package into it. Once is enough: the R package finds the
#' environment by its name in every later session.
#'
#' @param envname Name of the virtual environment, or a path to one.
#' @param package What pip is to install: a name (the default), a path to the sources, a wheel, or a URL.
#' @param python Path to the Python that the environment is made from (3.11 or newer); `NULL` lets reticulate look for
#'   one.
#' @param extras Optional extras of the Python package, for instance `"highs"`.
#' @param new Make the environment anew if it exists?
#' @param ... Passed to [reticulate::virtualenv_install()].
#' @return The path of the environment, invisibly.
#' @seealso [relbounds_config()]
#' @examples
#' \dontrun{
#' install_relbounds()
#' install_relbounds(package = "~/src/relbounds")   # from the sources
#' }
#' @export
install_relbounds <- function(envname = "r-relbounds", package = "relbounds", python = NULL, extras = character(),
                              new = FALSE, ...) {
  if (length(package) != 1 || !is.character(package)) {
    relbounds_stop("'package' must be one string: a name, a path, a wheel or a URL.")
  }
  source <- path.expand(package)
  if (file.exists(source)) {
    source <- normalizePath(source)
    if (dir.exists(source) && !file.exists(file.path(source, "pyproject.toml"))) {
      relbounds_stop("'", source, "' has no pyproject.toml: it does not hold the sources of the Python package.")
    }
  } else if (grepl("[/\\\\]|[.]whl$|[.]tar[.]gz$", package) && !grepl("^[a-z+]+://|@", package)) {
    relbounds_stop("'", package, "' does not exist. Give the path of the sources or of a wheel, or a package name.")
  }
  if (length(extras)) source <- paste0(source, "[", paste(extras, collapse = ","), "]")
  exists <- as_relbounds_error(reticulate::virtualenv_exists(envname))
  if (exists && new) {
    reticulate::virtualenv_remove(envname, confirm = FALSE)
    exists <- FALSE
  }
  if (!exists) {
    as_relbounds_error(
      reticulate::virtualenv_create(envname, python = python, packages = "pip"),
      "The virtual environment could not be made: ",
      "\nGive the path of a Python 3.11 or newer that has 'venv': install_relbounds(python = \"/usr/bin/python3\")."
    )
  }
  as_relbounds_error(
    reticulate::virtualenv_install(envname, packages = source, ignore_installed = FALSE, ...),
    "pip could not install the Python package: "
  )
  path <- reticulate::virtualenv_python(envname)
  message("Installed. ", if (envname == "r-relbounds") "Restart R and it will be found." else
    paste0("Restart R and call reticulate::use_virtualenv(\"", envname, "\") first."))
  invisible(dirname(dirname(path)))
}

# Messages speak of None, True and False; R has other words for them. Quoted ones are the user's own.
in_r_words <- function(text) {
  for (pair in list(c("None", "NULL"), c("True", "TRUE"), c("False", "FALSE"))) {
    text <- gsub(paste0("(?<!['\"])\\b", pair[1], "\\b(?!['\"])"), pair[2], text, perl = TRUE)
  }
  text
}

# Numbers travel as raw bytes: exact, quick, and independent of which NumPy the two sides were built for.
pack <- function(x) if (!is.null(x)) writeBin(as.double(x), raw())
