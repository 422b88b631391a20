"""One module a language: names, keywords and types. What it decides, its templates lay out."""
