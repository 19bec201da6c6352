"""Pure text: code blocks, languages, imports, edits. Nothing in here touches a file, a network or a clock."""
