# Cohen's kappa of two bands of fair.csv as R's vcd and psych print it:  Rscript kappa_by_r.R FOLDER, where fair.csv lies; run by
# tests/readers/test_printed_tests.py
setwd(commandArgs(TRUE)[1])
suppressMessages({library(vcd); library(psych)})
data <- read.csv("fair.csv")
small <- data[seq(1, nrow(data), 97), ]
bands <- table(cut(small$age, c(0, 25, 35, 99), 1:3), cut(small$educ, c(0, 12, 15, 99), 1:3))
capture.output(print(Kappa(bands), CI = TRUE), file = "kappa_vcd.txt")
capture.output(print(Kappa(bands, weights = "Fleiss-Cohen")), file = "kappa_fleiss.txt")
capture.output(print(cohen.kappa(bands)), file = "kappa_psych.txt")
