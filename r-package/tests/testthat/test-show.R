test_that("figures of a fit: every row, in the order asked for", {
  fit <- small_fit()
  p <- draw(plot(fit))
  expect_s3_class(p, "ggplot")
  expect_equal(nrow(p$data), nrow(fit$table))
  expect_equal(p$data$feature, fit$table$feature)
  sorted <- draw(plot(fit, sort = "upper", legend = FALSE, title = "Title"))
  expect_false(is.unsorted(-sorted$data$upper))
  expect_equal(sort(ggplot2::ggplot_build(sorted)$data[[1]]$xmax), sort(fit$table$upper), tolerance = 0.02)
  expect_equal(nrow(draw(plot(fit, features = c("age", "bmi")))$data), 2)
  expect_problem(plot(fit, features = "agee"), "Did you mean 'age'?")
  expect_problem(plot(fit, sort = TRUE), "must be one of")
  expect_s3_class(draw(plot_scores(fit)), "ggplot")
  expect_s3_class(draw(plot_scores(fit, few)), "ggplot")
})

test_that("colours and marks are those of the Python side", {
  need_python()
  theirs <- reticulate::py_run_string(paste0(
    "from matplotlib.colors import to_hex\n",
    "from relbounds.show.figures.style import CLASS_COLOURS, OTHER_COLOURS\n",
    "_hex = {k: to_hex(v).upper() for k, v in CLASS_COLOURS.items() if k}\n",
    "_hex['other'] = [to_hex(v).upper() for v in OTHER_COLOURS]"
  ))$`_hex`
  expect_equal(relbounds:::CLASS_COLOURS, unlist(theirs[names(relbounds:::CLASS_COLOURS)]))
  expect_equal(relbounds:::OTHER_COLOURS, theirs$other)
})

test_that("tidy, glance and augment have fixed names", {
  skip_if_not_installed("generics")
  fit <- small_fit()
  tidied <- generics::tidy(fit)
  expect_equal(names(tidied)[1:6], c("term", "estimate", "range.low", "range.high", "p.value", "adj.p.value"))
  expect_false(any(grepl("conf", names(generics::tidy(fit, conf.int = TRUE, conf.level = 0.9)))))
  expect_problem(generics::tidy(fit, exponentiate = TRUE), "no log odds")
  expect_equal(nrow(tidied), 7)
  expect_equal(nrow(generics::glance(fit)), 1)
  more <- generics::augment(fit)
  expect_true(all(c(".fitted", ".score", ".resid") %in% names(more)))
  expect_equal(more$.fitted, unname(fitted(fit)))
  expect_equal(nrow(generics::augment(fit, newdata = severity[1:5, names(severity) != "severity"])), 5)
  # the whole data set, of which the fit left out some rows
  s <- few
  s$age[3] <- NA
  part <- quick(severity ~ age + crp + stiffness, s)
  expect_true(is.na(generics::augment(part, data = s)$.fitted[3]))
})

test_that("broom finds the methods", {
  skip_if_not_installed("broom")
  expect_equal(nrow(broom::tidy(small_fit())), 7)
})

test_that("tables for papers", {
  fit <- small_fit()
  expect_match(to_latex(fit), "\\begin{tabular}", fixed = TRUE)
  expect_match(to_markdown(fit), "stiffness")
  expect_match(to_html(fit), "<table", fixed = TRUE)
  file <- tempfile(fileext = ".tex")
  to_latex(fit, file = file)
  expect_true(any(grepl("tabular", readLines(file))))
  expect_match(to_csv(fit), "^feature,part,term")
  expect_problem(to_latex(fit, captoin = "x"), "captoin")
  expect_equal(basename(to_word(fit, tempfile("t", fileext = ".docx"))) != "", TRUE)
  skip_if_not_installed("knitr")
  shown <- knitr::knit_print(fit)
  expect_match(as.character(shown), "|age", fixed = TRUE)
  expect_s3_class(knitr::kable(relevance(fit)), "knitr_kable")
  skip_if_not_installed("xtable")
  expect_s3_class(xtable::xtable(fit), "xtable")
  expect_output(print(xtable::xtable(fit)), "stiffness")
})

test_that("text from data stays text in a document", {
  need_python()
  skip_if_not_installed("knitr")
  s <- few
  names(s)[names(s) == "crp"] <- "<b>c|r*p</b>"
  fit <- quick(severity ~ stiffness + `<b>c|r*p</b>`, s)
  shown <- as.character(knitr::knit_print(fit))
  expect_match(shown, "|&lt;b&gt;c\\&#124;r\\*p&lt;/b&gt; |", fixed = TRUE)
  expect_match(shown, ":|\n|stiffness", fixed = TRUE)
  expect_no_match(shown, "<b>", fixed = TRUE)
  expect_s3_class(draw(plot(fit)), "ggplot")
})
