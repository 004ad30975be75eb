; Definitions of Python, and the scopes of local names.

; Before the definitions: a block that holds nothing else has the same range.
(if_statement consequence: (block) @branch)
(elif_clause consequence: (block) @branch)
(else_clause body: (block) @branch)
(try_statement body: (block) @branch)
(except_clause (block) @branch)
(case_clause consequence: (block) @branch)

(comment) @doc
(decorator) @attr
(decorated_definition) @wrap

(assignment left: (_) @name right: (_)? @value) @def.variable
(type_alias_statement left: (type (identifier) @name)) @def.type_alias
(function_definition name: (identifier) @name) @def.function
(class_definition name: (identifier) @name) @def.class

(lambda) @scope
(list_comprehension) @scope
(dictionary_comprehension) @scope
(set_comprehension) @scope
(generator_expression) @scope

(parameters (_) @local)
(lambda_parameters (_) @local)
(assignment left: (_) @local)
(named_expression name: (_) @local)
(for_statement left: (_) @local)
(for_in_clause left: (_) @local)
(as_pattern_target) @local
(case_pattern) @local
