; What brings names into a file, and out of it, in JavaScript and TypeScript alike.

(import_statement) @import
(export_statement) @import
(call_expression
  function: [(identifier) @_require (import)] @_require
  arguments: (arguments . (string))
  (#any-of? @_require "require" "import")) @import
