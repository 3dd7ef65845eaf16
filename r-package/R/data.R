#' Disease severity, simulated
#'
#' A simulated study of 300 patients whose truth is known: age, liver stiffness and platelets are needed by every good
#' model; crp, esr and il6 are three readings of one inflammation and stand in for each other; the rest is noise.
#' Biopsy and follow-up are known for the study only: privileged features.
#'
#' @format A data frame with 300 rows:
#' \describe{
#'   \item{severity}{ordered factor: none < mild < moderate < severe}
#'   \item{age}{years} \item{sex}{factor} \item{bmi}{body mass index} \item{pulse}{beats a minute}
#'   \item{sodium}{mmol/l} \item{platelets}{10^9/l} \item{stiffness}{kPa}
#'   \item{crp, esr, il6}{markers of inflammation}
#'   \item{biopsy, followup}{what the study knows and a clinic will not}
#' }
#' `severity_truth` is a data frame with the class of each feature.
#' @source Made by a script in the repository of the package; the Python package has the same data.
#' @examples
#' table(severity$severity)
#' severity_truth
"severity"

#' @rdname severity
"severity_truth"

#' Breast cancer, diagnostic
#'
#' Ten properties of cell nuclei in images of 569 breast masses, each as mean, standard error (`_se`) and worst value,
#' with the diagnosis.
#'
#' @format A data frame with 569 rows: `diagnosis` (factor: benign, malignant) and 30 numeric features.
#' @source Wolberg, Mangasarian, Street and Street (1993), Breast Cancer Wisconsin (Diagnostic), UCI Machine Learning
#'   Repository, \doi{10.24432/C5DW2B}; licence CC BY 4.0.
#' @examples
#' table(breast_cancer$diagnosis)
"breast_cancer"
