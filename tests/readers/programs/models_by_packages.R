# Tables of fair.csv by gtsummary and modelsummary:  Rscript models_by_packages.R FOLDER, where fair.csv lies
setwd(commandArgs(TRUE)[1])
suppressMessages({library(gtsummary); library(modelsummary); library(survival)})
data <- read.csv("fair.csv")
data$occ <- factor(data$occ)
data$religion <- factor(data$religion, labels = c("not at all", "mildly", "fairly", "strongly"))
written <- function(table, file, ...) write.csv(as_tibble(table, ...), file, row.names = FALSE)

logit <- tbl_regression(glm(affair ~ age + religion + occ, binomial, data), exponentiate = TRUE)
crude <- tbl_regression(glm(affair ~ religion, binomial, data), exponentiate = TRUE)
written(logit, "gtsummary_profile.csv")
written(tbl_merge(list(crude, logit)), "gtsummary_merged.csv")
linear <- lm(affairs ~ religion * age, data)
written(tbl_regression(linear, intercept = TRUE), "gtsummary_lm.csv")
cox <- tbl_regression(coxph(Surv(yrs_married, affair) ~ religion + educ, data), exponentiate = TRUE)
written(add_nevent(add_n(cox)), "gtsummary_cox.csv")
modelsummary(list(linear, lm(affairs ~ religion, data)), "modelsummary.csv", statistic = c("std.error", "conf.int", "p.value"),
  stars = TRUE)
