# The R section of the README, word for word; a test of the repository compares the two.
test_that("the README's example runs from a clean library", {
  need_python()
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  shown <- capture.output({
library(relbounds)

fit <- relbounds(severity ~ age + bmi + crp + esr + il6 + platelets, data = severity)
summary(fit)
plot(fit)
substitutes(fit, "crp")
  })
  expect_s3_class(fit, "relbounds")
  expect_equal(as.character(fit$table["age", "relevance"]), "strong")
})
