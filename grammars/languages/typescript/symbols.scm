; Definitions of TypeScript, and the scopes of local names.

(comment) @doc
(decorator) @attr
(export_statement) @wrap
(ambient_declaration) @wrap
(lexical_declaration) @wrap
(variable_declaration) @wrap

(variable_declarator name: (_) @name value: (_)? @value) @def.variable
(function_declaration name: (identifier) @name) @def.function
(generator_function_declaration name: (identifier) @name) @def.function
(function_signature name: (identifier) @name) @def.function
(function_expression name: (identifier) @name) @def.function
(class_declaration name: (type_identifier) @name) @def.class
(abstract_class_declaration name: (type_identifier) @name) @def.class
(class name: (type_identifier) @name) @def.class
(interface_declaration name: (type_identifier) @name) @def.interface
(type_alias_declaration name: (type_identifier) @name) @def.type_alias
(enum_declaration name: (identifier) @name) @def.enum
(enum_body name: (_) @name @def.enum_member)
(enum_assignment name: (_) @name) @def.enum_member
(internal_module name: (_) @name) @def.module
(module name: (_) @name) @def.module
(method_definition name: (_) @name) @def.method
(method_signature name: (_) @name) @def.method
(abstract_method_signature name: (_) @name) @def.method
(property_signature name: (_) @name) @def.property
(public_field_definition name: (_) @name value: (_)? @value) @def.property
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @def.property
(optional_parameter (accessibility_modifier) pattern: (identifier) @name) @def.property
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

(required_parameter pattern: (_) @local)
(optional_parameter pattern: (_) @local)
(arrow_function parameter: (identifier) @local)
(variable_declarator name: (_) @local)
(for_in_statement left: (_) @local)
(catch_clause parameter: (_) @local)
