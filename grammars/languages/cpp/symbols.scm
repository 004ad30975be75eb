; Definitions of C++ alone.

(template_declaration) @wrap
(template_parameter_list) @attr

(namespace_definition name: (_) @name) @def.module
(class_specifier name: (_) @name body: (_)) @def.class
(alias_declaration name: (type_identifier) @name) @def.type_alias
(concept_definition name: (identifier) @name) @def.trait
(type_definition type: (class_specifier !name body: (_)) declarator: (type_identifier) @name) @def.class

; Tests of GoogleTest, which a macro makes.
(function_definition
  declarator: (function_declarator
    declarator: (identifier) @_test
    parameters: (parameter_list . (parameter_declaration type: (_) @owner) . (parameter_declaration type: (_) @name) .))
  (#any-of? @_test "TEST" "TEST_F" "TEST_P" "TYPED_TEST" "TYPED_TEST_P")) @def.test

(lambda_expression) @scope
(for_range_loop) @scope
(catch_clause) @scope

(for_range_loop declarator: (_) @local)
(optional_parameter_declaration declarator: (_) @local)
(variadic_parameter_declaration declarator: (_) @local)
