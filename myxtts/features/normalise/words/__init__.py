"""Words only, one file per language, no rules: months, coins, measures, abbreviations, what symbols are called."""
