# A bar from R's side: the standard error of Python is no terminal here, so its own bar never shows.

# What Python is handed as 'progress': a function that draws, or FALSE for silence.
progress_for <- function(progress, show = interactive() && !isTRUE(getOption("knitr.in.progress"))) {
  if (is.function(progress)) return(progress)
  if (!is.null(progress) && !(is.logical(progress) && length(progress) == 1 && !is.na(progress))) {
    relbounds_stop("'progress' must be TRUE, FALSE, NULL or a function of stage, done and total.", class = "relbounds_option_error")
  }
  if (is.null(progress)) {
    if (show) progress_bar() else FALSE
  } else {
    if (progress) progress_bar(delay = 0) else FALSE
  }
}

# Draws one line over itself; nothing for work that is done within a second.
progress_bar <- function(delay = 1, con = stderr(), width = min(getOption("width"), 80L)) {
  started <- proc.time()[["elapsed"]]
  last <- -Inf
  function(stage, done, total) {
    now <- proc.time()[["elapsed"]]
    over <- !is.null(total) && done >= total
    if (now - started < delay || (!over && now - last < 0.1)) return(invisible())
    last <<- now
    line <- if (is.null(total)) paste0(stage, ": ", done) else {
      room <- max(10L, width - nchar(stage) - 16L)
      full <- as.integer(round(room * min(done, total) / max(total, 1)))
      paste0(stage, " [", strrep("=", full), strrep(" ", room - full), "] ", done, "/", total)
    }
    cat("\r", formatC(line, width = -(width - 1L)), if (over) paste0("\r", strrep(" ", width - 1L), "\r"), file = con, sep = "")
    utils::flush.console()
    invisible()
  }
}
