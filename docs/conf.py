"""How the pages are built: `cargo xtask docs`. Every cell of every page is run while they are."""

import mercer

project = "mercer"
author = "the mercer project"
version = release = mercer.__version__

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]
nitpicky = False

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_show_sourcelink = False
html_sidebars = {"**": []}  # the few pages are in the head
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 900
nb_execution_show_tb = True
nb_mime_priority_overrides = [("html", "text/html", 0)]

numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False
autodoc_default_options = {"members": True, "inherited-members": False}
