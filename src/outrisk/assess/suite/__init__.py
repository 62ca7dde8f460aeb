"""The suite of risk measures of a study's runs."""
