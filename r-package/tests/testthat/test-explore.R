explored <- local({
  fit <- NULL
  function() {
    need_python()
    if (is.null(fit)) {
      fit <<- relbounds(severity ~ age + stiffness + platelets + crp + esr, data = severity, C = 0.3, delta = 0.05,
                        order = "explicit")
    }
    fit
  }
})

test_that("what-ifs give narrower intervals and remember their constraint", {
  fit <- explored()
  held <- constrain(fit, esr = "off")
  expect_s3_class(held, "relbounds")
  expect_equal(held$table["esr", "upper"], 0, tolerance = 1e-6)
  expect_true(all(held$table$upper <= fit$table$upper + 1e-6))
  expect_true(all(held$table$lower >= fit$table$lower - 1e-6))
  expect_output(print(held), "esr = 0")
  again <- constrain(held, list(crp = c(0, 0.3)))
  expect_length(again$constraints, 2)
  expect_length(predict(held, few), 100)
  expect_equal(as.character(held$table["esr", "relevance"]), "fixed")
  expect_problem(constrain(fit), "Name the features")
  expect_problem(constrain(fit, essr = 0), "Did you mean 'esr'?")
  expect_problem(constrain(fit, age = c(0.9, 0.8)), "age")
})

test_that("substitutes, groups and choices", {
  fit <- explored()
  found <- substitutes(fit, "esr")
  expect_equal(found$feature[1], "crp")
  expect_problem(substitutes(fit, 3), "one string")
  g <- groups(fit, k = 4)
  expect_equal(max(g$labels), 4)
  expect_equal(unname(stats::cutree(g$tree, k = 4)), unname(g$labels), ignore_attr = TRUE)
  expect_output(print(g), "4 groups of 5 terms")
  expect_equal(as.data.frame(g)$group, unname(g$labels))
  expect_s3_class(draw(plot(g)), "ggplot")
  best <- cheapest(fit, c(crp = 60, esr = 3), other = 1)
  expect_s3_class(best$formula, "formula")
  expect_false("crp" %in% best$terms)
  expect_output(print(best), "severity ~ .*proved cheapest")
  expect_true(all(c("term", "cost", "chosen") %in% names(as.data.frame(best))))
  expect_s3_class(draw(plot(best)), "ggplot")
  expect_problem(cheapest(fit, 3), "named numbers")
})

test_that("sweeps, stability and the risk bound", {
  fit <- explored()
  s <- sweep_delta(fit, c(0.001, 0.1))
  expect_equal(s$deltas, c(0.001, 0.1))
  expect_equal(nrow(as.data.frame(s)), 10)
  expect_output(print(s), "Along 2 tolerances")
  expect_s3_class(draw(plot(s)), "ggplot")
  st <- stability(fit, n_resamples = 2)
  expect_equal(unname(rowSums(st$frequencies[c("strong", "weak", "irrelevant")])), rep(1, 5))
  expect_output(print(st), "2 subsamples of ")
  expect_equal(nrow(as.data.frame(st)), 5)
  expect_s3_class(draw(plot(st)), "ggplot")
  risk <- risk_bound(fit)
  expect_true(risk$vacuous)
  expect_output(print(risk), "vacuous")
  expect_equal(nrow(as.data.frame(risk)), 1)
})

test_that("difficulty, comparison and report", {
  fit <- explored()
  expect_problem(difficulty(fit), "priv(...)")
  taught <- quick(severity ~ age + stiffness | priv(biopsy), privileged = "teacher")
  hard <- difficulty(taught)
  expect_equal(row.names(hard), row.names(few))
  expect_true(all(c("slack", "reason", "from biopsy") %in% names(hard)))
  expect_s3_class(draw(plot(hard, most = 5)), "ggplot")
  expect_s3_class(correcting(taught), "data.frame")
  expect_problem(plot(hard, most = 0), "1 or more")
  both <- compare_fits(all = fit, `no esr` = constrain(fit, esr = "off"))
  expect_equal(both$table[both$table$feature == "esr", "no esr.upper"], 0, tolerance = 1e-6)
  shown <- capture.output(print(both))
  expect_match(shown[1], "all +no esr")
  expect_false(any(grepl("|", shown, fixed = TRUE)))
  expect_equal(nrow(as.data.frame(both)), 10)
  expect_s3_class(draw(plot(both)), "ggplot")
  expect_problem(compare_fits(fit), "Name the fits")
  expect_problem(compare_fits(a = fit, a = fit), "Two fits are called 'a'")
  file <- tempfile(fileext = ".html")
  write_report(fit, file, groups = FALSE)
  expect_match(paste(readLines(file, warn = FALSE), collapse = ""), "stiffness")
})

test_that("the explorer serves its page while R waits, and is a picture in documents", {
  fit <- explored()
  # a second process is the browser: it opens the page, asks for its script, and says goodbye
  expect_problem(explorer(fit, port = 0, open_browser = FALSE), "port")
  expect_problem(explorer(fit, open_browser = "yes"), "TRUE or FALSE")
  expect_problem(explorer(fit, prot = 1), "prot")
  seen <- NULL
  withCallingHandlers({
    visit <- tempfile(fileext = ".py")
    url <- withVisible(explorer_visited(fit, visit))
  }, message = function(m) {
    seen <<- c(seen, conditionMessage(m))
    invokeRestart("muffleMessage")
  })
  expect_match(seen[1], "http://127.0.0.1:", fixed = TRUE)
  expect_false(url$visible)
  expect_equal(readLines(paste0(visit, ".out")), c("200", "200", "403"))
  old <- options(knitr.in.progress = TRUE)
  on.exit(options(old))
  expect_s3_class(draw(explorer(fit)), "ggplot")
})
