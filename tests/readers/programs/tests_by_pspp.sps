* Tests of fair.csv as PSPP writes them, SPSS's free twin:  pspp tests_by_pspp.sps -o pspp_tests.csv, in the folder of fair.csv.
GET DATA /TYPE=TXT /FILE="fair.csv" /ARRANGEMENT=DELIMITED /DELIMITERS="," /FIRSTCASE=2
  /VARIABLES=affair F2.0 affairs F12.7 marriage F2.0 religion F2.0 age F8.1 yrs_married F8.1 children F8.1 educ F4.0 text A20.
COMPUTE #number = #number + 1.
SELECT IF MOD(#number, 97) = 1.
RECODE children (0 = 0) (ELSE = 1) INTO any_child.
RECODE religion (1, 2 = 0) (ELSE = 1) INTO religious.
FORMATS any_child religious (F1.0).
VALUE LABELS religion 1 'not at all' 2 'mildly' 3 'fairly' 4 'strongly'.
T-TEST GROUPS=affair(0,1) /VARIABLES=age educ.
T-TEST PAIRS=age WITH educ.
T-TEST TESTVAL=30 /VARIABLES=age.
ONEWAY /VARIABLES=age BY religion /STATISTICS=DESCRIPTIVES.
CROSSTABS /TABLES=religion BY affair /STATISTICS=CHISQ PHI.
CROSSTABS /TABLES=religious BY affair /STATISTICS=CHISQ PHI.
NPAR TESTS /MANN-WHITNEY age BY affair(0,1).
NPAR TESTS /KRUSKAL-WALLIS age BY religion(1,4).
NPAR TESTS /WILCOXON age WITH educ.
NPAR TESTS /WILCOXON educ WITH age.
NPAR TESTS /MCNEMAR any_child WITH religious.
CROSSTABS /TABLES=religion BY marriage /STATISTICS=CHISQ.
CORRELATIONS /VARIABLES=age educ children /PRINT=TWOTAIL.
