from crfkit.apps.genes.finder import GeneFinder as GeneFinder
from crfkit.apps.genes.seven_states import SevenStateGenes as SevenStateGenes
