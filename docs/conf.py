"""Settings of the documentation site: ``make site`` gathers the pages (site/gather.py) and runs Sphinx."""

import os
import sys
from pathlib import Path

import crfkit

sys.path.insert(0, str(Path(os.environ["CRFKIT_SITE_TOOLS"])))  # the extensions formulas.py and reference.py

project = "crfkit"
author = "The crfkit developers"
copyright = author
version = release = crfkit.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "formulas",
    "reference",
]

# Markdown: headings have the anchors that they have on code hosting sites.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks come with their output, which the tests compare
math_number_all = False
html_math_renderer = "drawn"
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header"]  # results.md has tables below its chapters

# The reference: public names from the packages' __init__.pyi, texts from docstrings.
autosummary_generate = False
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # the docstrings say what each argument is
napoleon_google_docstring = False
napoleon_use_ivar = True  # a class's attributes as a list: some are properties with an entry of their own
napoleon_use_rtype = False
napoleon_preprocess_types = False
add_module_names = False
maximum_signature_line_length = 70

# Pictures: every gallery/plot_*.py is run; its figure and its code make a page.
sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["pictures"],
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "notebook_extensions": set(),
}

exclude_patterns = ["gallery/*", "pictures/*.py", "pictures/*.json", "pictures/*.md5", "pictures/*.zip"]
templates_path = ["site/templates"]
highlight_language = "text"
pygments_style = "default"

html_theme = "furo"
html_title = f"crfkit {version}"
html_static_path = ["site/static"]
html_css_files = ["crfkit.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": False, "top_of_page_buttons": []}
