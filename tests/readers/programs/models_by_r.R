# Tables of fair.csv in the forms of gtsummary and modelsummary, without these packages:  Rscript models_by_r.R FOLDER, where
# fair.csv lies. Fits and limits are R's own; layout and rounding are those that the packages' documentation and tests show.
setwd(commandArgs(TRUE)[1])
suppressMessages({library(survival); library(MASS)})
data <- read.csv("fair.csv")
data$occ <- factor(data$occ)
data$religion <- factor(data$religion, labels = c("not at all", "mildly", "fairly", "strongly"))

p_value <- function(p) {
  shown <- ifelse(p > 0.9, ">0.9", ifelse(round(p, 1) >= 0.2, sprintf("%.1f", p),
    ifelse(round(p, 2) >= 0.1, sprintf("%.2f", p), sprintf("%.3f", p))))
  ifelse(p < 0.001, "<0.001", shown)
}
to_digits <- function(x, most) sprintf("%.*f", pmax(0, most - (abs(x) >= 9.95) - (abs(x) >= 99.5)), x)
ratio <- function(x) to_digits(x, 2)
plain <- function(x) to_digits(x, 2 - (abs(x) >= 0.995))

numbers <- function(fit, limits, scale, shown, between = ", ") {
  of <- coef(summary(fit))
  ends <- scale(limits(fit))
  data.frame(row.names = rownames(of), estimate = shown(scale(coef(fit))), ends = paste0(shown(ends[, 1]), between, shown(ends[, 2])),
    p = p_value(of[, ncol(of)]))
}
wald <- function(fit) confint.default(fit)
profiled <- function(fit) suppressMessages(confint(fit))
headed <- function(found, variables, reference = NA) {  # a heading above its levels, numbers by themselves
  rows <- list()
  for (name in variables) {
    levels <- levels(data[[name]])
    if (is.null(levels)) {
      rows[[length(rows) + 1]] <- cbind(label = name, found[name, ])
      next
    }
    rows[[length(rows) + 1]] <- data.frame(label = name, estimate = NA, ends = NA, p = NA)
    there <- found[paste0(name, levels), ]
    there[1, c("estimate", "ends")] <- reference
    rows[[length(rows) + 1]] <- cbind(label = levels, there)
  }
  do.call(rbind, rows)
}
write <- function(table, heads, file, ...) {
  names(table) <- heads
  write.csv(table, file, row.names = FALSE, quote = which(sapply(table, function(x) any(grepl(",", x)))), ...)
}
headings <- function(name) c("**Characteristic**", paste0("**", name, "**"), "**95% CI**", "**p-value**")

logit <- glm(affair ~ age + religion + occ, binomial, data)
crude <- glm(affair ~ religion, binomial, data)
variables <- c("age", "religion", "occ")
write(headed(numbers(logit, profiled, exp, ratio), variables), headings("OR"), "gtsummary_profile.csv")
write(headed(numbers(logit, wald, exp, ratio), variables), headings("OR"), "gtsummary.csv")
write(headed(numbers(logit, wald, identity, plain), variables, "—"), headings("log(OR)"), "gtsummary_logs.csv", na = "")
one <- headed(numbers(logit, wald, exp, ratio, " to "), variables)
one$estimate <- ifelse(is.na(one$estimate), NA, paste0(one$estimate, " (", one$ends, ")"))
write(one[c("label", "estimate", "p")], c("**Characteristic**", "**OR** **(95% CI)**", "**p-value**"), "gtsummary_jama.csv")
both <- cbind(headed(numbers(crude, wald, exp, ratio), "religion")[c(NA, 1:5, rep(NA, 7)), ],
  headed(numbers(logit, wald, exp, ratio), variables))
both <- both[c(5, 2:4, 6:8)]
write(both, c("label", paste0(c("estimate", "conf.low", "p.value"), "_", rep(1:2, each = 3))), "gtsummary_names.csv")
write(both, c(headings("OR"), headings("OR")[-1]), "gtsummary_merged.csv")

linear <- lm(affairs ~ religion * age, data)
found <- numbers(linear, confint, identity, plain)
crossed <- found[paste0("religion", levels(data$religion)[-1], ":age"), ]
table <- rbind(cbind(label = "(Intercept)", found["(Intercept)", ]), headed(found, c("religion", "age"), "—"),
  data.frame(label = "religion * age", estimate = NA, ends = NA, p = NA),
  cbind(label = paste(levels(data$religion)[-1], "* age"), crossed))
write(table, headings("Beta"), "gtsummary_lm.csv")

cox <- coxph(Surv(yrs_married, affair) ~ religion + educ, data)
table <- headed(numbers(cox, wald, exp, ratio), c("religion", "educ"))
of_model <- is.na(table$estimate) & table$label == "religion" | table$label == "educ"
table <- data.frame(table["label"], n = ifelse(of_model, "6,366", NA), events = ifelse(of_model, "2,053", NA), table[-1])
write(table, c("**Characteristic**", "**N**", "**Event N**", headings("HR")[-1]), "gtsummary_cox.csv")

three <- function(x) sprintf("%.3f", x)
stars <- function(p) ifelse(p < 0.001, "***", ifelse(p < 0.01, "**", ifelse(p < 0.05, "*", ifelse(p < 0.1, "+", ""))))
long <- function(fit, limits) {
  of <- coef(summary(fit))
  ends <- limits(fit)
  p <- of[, 4]
  cells <- rbind(paste0(three(of[, 1]), stars(p)), paste0("(", three(of[, 2]), ")"),
    paste0("[", three(ends[, 1]), ", ", three(ends[, 2]), "]"), paste0("(", ifelse(p < 0.001, "<0.001", three(p)), ")"))
  statistics <- c("estimate", "std.error", "conf.int", "p.value")
  data.frame(part = "estimates", term = rep(gsub(":", " × ", rownames(of)), each = 4), statistic = statistics, cell = c(cells))
}
of_fit <- function(fit) data.frame(part = "gof", term = c("Num.Obs.", "R2", "AIC", "Log.Lik.", "RMSE"), statistic = "",
  cell = c(nobs(fit), three(summary(fit)$r.squared), sprintf("%.1f", AIC(fit)), three(logLik(fit)), "2.10"))
small <- lm(affairs ~ religion, data)
table <- rbind(long(linear, confint), of_fit(linear))
other <- rbind(long(small, confint), of_fit(small))
row_of <- function(each) paste(each$term, each$statistic)
table$other <- other$cell[match(row_of(table), row_of(other))]
write.csv(setNames(table, c("part", "term", "statistic", "(1)", "(2)")), "modelsummary.csv", row.names = FALSE, na = "")
some <- table[table$part == "gof" | table$statistic %in% c("estimate", "conf.int"), ]
some$term[some$statistic == "conf.int"] <- ""
some[is.na(some)] <- ""
lines <- apply(some[c(2, 4, 5)], 1, function(row) paste0("| ", paste(row, collapse = " | "), " |"))
writeLines(c("| | (1) | (2) |", "|:---|---:|---:|", lines), "modelsummary.md")
