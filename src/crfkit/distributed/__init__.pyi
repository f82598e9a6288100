from crfkit.distributed.collections import from_files as from_files
