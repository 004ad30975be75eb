; Definitions that JavaScript and TypeScript write alike, and the scopes of local names.

(comment) @doc
(decorator) @attr
(export_statement) @wrap
(lexical_declaration) @wrap
(variable_declaration) @wrap

(variable_declarator name: (_) @name value: (_)? @value) @def.variable
(function_declaration name: (identifier) @name) @def.function
(generator_function_declaration name: (identifier) @name) @def.function
(function_expression name: (identifier) @name) @def.function
(method_definition name: (_) @name) @def.method
(pair key: [(property_identifier) (string)] @name
  value: [(arrow_function) (function_expression) (generator_function)]) @def.method

(call_expression
  function: [
    (identifier) @_test
    (member_expression object: (identifier) @_test)
    (call_expression function: (member_expression object: (identifier) @_test))
  ]
  arguments: (arguments . [(string) (template_string)] @name . [(arrow_function) (function_expression) (object)])
  (#any-of? @_test "it" "test" "describe" "specify" "suite" "bench")) @def.test

(statement_block) @scope
(arrow_function) @scope
(function_expression) @scope
(generator_function) @scope
(for_statement) @scope
(for_in_statement) @scope
(catch_clause) @scope
(switch_body) @scope

(arrow_function parameter: (identifier) @local)
(variable_declarator name: (_) @local)
(for_in_statement left: (_) @local)
(catch_clause parameter: (_) @local)
