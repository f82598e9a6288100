"""Applications of the library: tools that read real files of a field and write them."""
