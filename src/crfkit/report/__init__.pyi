from crfkit.report.rules_page import rules_html as rules_html
from crfkit.report.showing import show as show
