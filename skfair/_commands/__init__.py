"""Commands of the shell: files in, sentences, pages and JSON out, and an exit status."""

__all__: list[str] = []
