#' Data with known truth
#'
#' Simulated data in which it is known which features every good model needs (strong), which have stand-ins (weak) and
#' which are noise (irrelevant).
#'
#' @param kind `"ordinal"`, `"binary"` or `"regression"` data; `"privileged"` for data with privileged features;
#'   `"noise_per_group"` for privileged features that tell how noisy a row is; `"paper_set"`,
#'   `"paper_privileged_set"`, `"paper_binary_set"` and `"paper_group_set"` for the sets of the publications, which take
#'   `number`.
#' @param ... Arguments of the simulator of that name in Python: `n`, `strong`, `weak`, `irrelevant` (how many features
#'   of each class), `groups` (number or sizes of the groups of stand-ins), `n_levels`, `noise`, `imbalance`,
#'   `correlation`, `label_noise`, `number`.
#' @param seed Seed of the random numbers, which are Python's: the same data as there.
#' @return A list: `data` (a data frame; an ordered factor `y` for ordinal data), `formula`, `truth` and
#'   `truth_privileged` (named character vectors: `"strong"`, `"weak"`, `"irrelevant"`), and `groups` (named numbers: features that share one stand in for each other).
#' @examplesIf relbounds::relbounds_available()
#' sim <- simulate_relbounds("ordinal", n = 100, strong = 2, weak = 2, irrelevant = 2, seed = 1)
#' sim$truth
#' relbounds(sim$formula, sim$data, C = 1, probes = 10)
#' @export
simulate_relbounds <- function(kind = c("ordinal", "binary", "regression", "privileged", "noise_per_group", "paper_set",
                                        "paper_privileged_set", "paper_binary_set", "paper_group_set"),
                               ..., seed = 0) {
  known <- eval(formals()$kind)
  kind <- kind[1]
  if (!kind %in% known) {
    relbounds_stop("kind = \"", kind, "\" is not known; use ", quote_names(known, "or"), ".", nearest(kind, known),
                   class = "relbounds_option_error")
  }
  made <- python_call("simulate", kind, c(list(...), list(seed = seed)))
  data <- as.data.frame(lapply(made$data, unlist), stringsAsFactors = FALSE)
  if (length(made$levels)) data$y <- ordered(data$y, levels = as.character(unlist(made$levels)))
  named <- function(x) {
    if (length(x$names)) stats::setNames(unlist(x$values), unlist(x$names)) else NULL
  }
  list(
    data = data, formula = stats::as.formula(made$formula, env = parent.frame()), truth = named(made$truth),
    truth_privileged = named(made$truth_privileged), groups = named(made$groups)
  )
}
