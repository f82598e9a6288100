"""Applications of the library: tools that read and write the file formats of a field."""
