# The two languages have the same verbs with the same arguments. What differs stands here, with its reason.

# Of Python only.
NOT_IN_R <- c(
  fit_design = "a design of arrays: R users have formulas and data frames",
  load = "readRDS()", save = "saveRDS() keeps a fit whole", to_bytes = "saveRDS()",
  decision_function = "predict(type = \"score\")", paper_table = "relevance() with knitr::kable() or xtable::xtable()",
  score = "glance()$score and cv.score; packages such as yardstick score predictions of new data",
  calibration = "calibration_table(): caret has a calibration()"
)
# Arguments of Python only, wherever they stand.
NO_ARGUMENT <- c(
  ax = "figures of ggplot2 are objects", client = "a cluster of machines held by a Python object",
  path = "called 'file' in R, as in write.csv()", kernel = "a ready-made kernel matrix; svor(kernel = ) takes a function"
)
# Arguments of R only, wherever they stand.
NO_COUNTERPART <- c(
  subset = "R's own, as in lm()", na.action = "R's own, as in lm()", file = "called 'path' in Python",
  title = "ggtitle() of figures that Python leaves to matplotlib's axes"
)
# Methods whose arguments are put otherwise.
PUT_OTHERWISE <- c(
  explorer = "no 'block': R always waits, since Python answers the page only then",
  constrain = "named arguments instead of a dictionary", compare_fits = "named arguments instead of a dictionary",
  cheapest = "Python documents 'other', 'exact' and 'heredity' as options",
  stability = "Python documents 'fraction', 'probes', 'n_jobs' and 'seed' as options",
  predict = "type = \"response\" is R's word for the default", summary = "no arguments",
  plot_groups = "plot(groups(fit)) draws groups that are there", plot_sweep_delta = "plot(sweep_delta(fit))",
  plot_stability = "plot(stability(fit))", plot_scores = "no jitter, hence no seed; one colour a level, hence no legend",
  plot_difficulty = "the legend stays: it names the reasons", plot_level_contrasts = "numbers stand in print()",
  plot_survival = "newdata and numbers at risk: the package survival draws those",
  survival_curves = "held-out scores only: survfit() draws other rows",
  selected_formula = "privileged = TRUE keeps that part in R",
  to_latex = "options by name", to_markdown = "options by name", to_html = "options by name", to_csv = "options by name",
  to_word = "options by name", svor.plot = "rings of support vectors are always drawn",
  forest.plot = "the order of bars can be chosen in R"
)

theirs <- local({
  found <- NULL
  function() {
    need_python()
    if (is.null(found)) found <<- relbounds:::python_call("signatures")
    found
  }
})

arguments_of <- function(name, class = NULL) {
  ns <- asNamespace("relbounds")
  f <- if (is.null(class)) get0(name, ns, mode = "function") else {
    made <- get0(paste(name, class, sep = "."), ns, mode = "function")
    if (name == "plot") get0(paste("autoplot", class, sep = "."), ns, mode = "function") else made
  }
  if (is.null(f)) return(NULL)
  setdiff(names(formals(f)), c("...", if (!is.null(class)) names(formals(f))[1]))
}

# Arguments of R only may stand beside those of both.
expect_same_arguments <- function(mine, wanted, label) {
  mine <- setdiff(mine, setdiff(names(NO_COUNTERPART), wanted))
  testthat::expect_equal(sort(as.character(mine)), sort(as.character(wanted)), label = label)
}

test_that("functions of both languages have the same names and arguments", {
  for (name in setdiff(names(theirs()$functions), c(names(NOT_IN_R), names(PUT_OTHERWISE)))) {
    wanted <- setdiff(unlist(theirs()$functions[[name]]), setdiff(names(NO_ARGUMENT), "kernel"))
    expect_true(name %in% getNamespaceExports("relbounds"), label = name)
    expect_same_arguments(arguments_of(name), wanted, name)
  }
})

test_that("so have the methods of the three kinds of fit", {
  for (class in c("relbounds", "svor", "relbounds_forest")) {
    methods <- theirs()[[class]]
    for (name in setdiff(names(methods), names(NOT_IN_R))) {
      mine <- arguments_of(name, class)
      if (is.null(mine) && name %in% c("selected", "selected_formula") && class == "svor") next # a kernel fit has no classes
      expect_false(is.null(mine), label = paste(name, "of", class))
      alone <- c(svor = "svor.plot", relbounds_forest = "forest.plot")[class]
      if (name %in% names(PUT_OTHERWISE) || (name == "plot" && isTRUE(alone %in% names(PUT_OTHERWISE)))) next
      expect_same_arguments(mine, setdiff(unlist(methods[[name]]), names(NO_ARGUMENT)), paste(name, "of", class))
    }
  }
})

test_that("what differs is still there, on the side that has it", {
  known <- unique(unlist(lapply(theirs(), names)))
  expect_equal(setdiff(names(NOT_IN_R), known), character())
  expect_equal(setdiff(sub(".*[.]", "", names(PUT_OTHERWISE)), known), character())
})

test_that("R has no verb that Python lacks, but for those of R itself", {
  own <- c(
    "relevance", "relbounds_config", "relbounds_available", "forest_available", "install_relbounds", "simulate_relbounds",
    "relbounds_caret", "relbounds_parsnip", "published", "calibration_table", "correcting", "correcting_bounds"
  )
  known <- unique(unlist(lapply(theirs(), names)))
  expect_equal(setdiff(getNamespaceExports("relbounds"), c(known, own)), character())
})
