"""Pure text: code blocks, imports, declared tests, edits. Nothing in here touches a file, a network or a clock."""
