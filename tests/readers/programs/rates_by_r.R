# Tables of rates of fair.csv as R writes them:  Rscript rates_by_r.R FOLDER, where fair.csv lies; run by tests/readers/test_written_by_programs.py
setwd(commandArgs(TRUE)[1])
suppressMessages({library(survival); library(epitools)})
data <- read.csv("fair.csv")

events <- tapply(data$affair, data$occ, sum)
years <- tapply(data$yrs_married, data$occ, sum)
exact <- cbind(occ = names(events), pois.exact(as.vector(events), as.vector(years)))
write.csv(exact, "pois_exact.csv", row.names = FALSE)
write.table(exact, "pois_exact_table.txt")
capture.output(print(exact), file = "pois_exact.txt")
capture.output(print(pois.exact(events, years)), file = "pois_numbered.txt")
capture.output(print(pois.byar(events, years, 0.9)), file = "pois_byar.txt")
at_risk <- pyears(Surv(yrs_married, affair) ~ religion, data, scale = 1)
capture.output(invisible(summary(at_risk, rate = TRUE, ci.r = TRUE, scale = 1000)), file = "pyears.txt")
several <- pyears(Surv(yrs_married, affair) ~ religion + factor(children), data, scale = 1, data.frame = TRUE)$data
names(several)[2] <- "children"
write.csv(several, "pyears.csv", row.names = FALSE)
capture.output(invisible(summary(pyears(Surv(yrs_married, affair) ~ religion + children, data), rate = TRUE)), file = "pyears_wide.txt")
