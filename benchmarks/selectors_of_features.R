# The methods of R for methods.py. Each line of the input is a request, METHOD, FILE, FAMILY, SEED, LIMIT parted by tabs;
# each line of the output an answer in JSON. The limit is of processor seconds.
suppressPackageStartupMessages({
  library(MASS)
  library(glmnet)
  library(ranger)
})

answer <- function(method, file, family, seed) {
  data <- read.csv(file, stringsAsFactors = TRUE)
  set.seed(seed)
  names_of_terms <- setdiff(names(data), "y")
  X <- model.matrix(y ~ ., data)
  term <- attr(X, "assign")[-1]
  X <- X[, -1, drop = FALSE]
  if (method != "glmnet" && family != "regression") data$y <- factor(data$y, ordered = family == "ordinal")
  first <- proc.time()
  if (method == "step AIC") {
    if (ncol(X) >= 0.9 * nrow(X)) stop("more columns than the model can have")
    # step() fits smaller models to the data that it finds by this name
    data_of_step <<- data
    full <- switch(family,
      ordinal = polr(y ~ ., data = data_of_step),
      binary = glm(y ~ ., data = data_of_step, family = binomial),
      regression = lm(y ~ ., data = data_of_step))
    kept <- attr(terms(step(full, trace = 0)), "term.labels")
  } else if (method == "glmnet") {
    fit <- cv.glmnet(X, data$y, family = if (family == "binary") "binomial" else "gaussian")
    used <- as.vector(coef(fit, s = "lambda.1se"))[-1] != 0
    kept <- names_of_terms[unique(term[used])]
  } else {
    fit <- ranger(y ~ ., data = data, importance = "permutation", num.threads = 1, seed = seed)
    p <- importance_pvalues(fit, method = "altmann", formula = y ~ ., data = data, num.threads = 1)
    kept <- rownames(p)[p[, "pvalue"] <= 0.05]
  }
  spent <- proc.time() - first
  letters_of_terms <- paste0('"', ifelse(names_of_terms %in% kept, "R", "-"), '"', collapse = ", ")
  sprintf('{"classes": [%s], "cpu": %.4f}', letters_of_terms, spent[["user.self"]] + spent[["sys.self"]])
}

input <- file("stdin", "r")
while (length(line <- readLines(input, n = 1))) {
  asked <- strsplit(line, "\t", fixed = TRUE)[[1]]
  limit <- as.numeric(asked[5])
  first <- proc.time()
  said <- tryCatch({
    setTimeLimit(cpu = limit, transient = TRUE)
    suppressWarnings(answer(asked[1], asked[2], asked[3], as.integer(asked[4])))
  }, error = function(e) {
    text <- gsub("[^A-Za-z0-9 .,:()=-]", " ", conditionMessage(e))
    if (grepl("time limit", text)) text <- sprintf("stopped at %g processor seconds", limit)
    sprintf('{"error": "%s", "cpu": %.4f}', substr(text, 1, 200), sum((proc.time() - first)[1:2]))
  })
  setTimeLimit()
  cat(said, "\n", sep = "")
  flush(stdout())
}
