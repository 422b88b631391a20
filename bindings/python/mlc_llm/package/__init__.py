"""`mlc_llm package`: everything that an app needs of its models, from one config file.

config      what `mlc-package-config.json` may contain
devices     the devices of apps, as a table
libraries   one compiled library for each model
bundle      weights and `mlc-app-config.json`
package     the whole, in order
check       what the files of a package are, and whether they fit together
"""
