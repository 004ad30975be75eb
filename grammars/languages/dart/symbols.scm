; Definitions of Dart, and the scopes of local names.

(comment) @doc
(documentation_comment) @doc

(library_name (dotted_identifier_list) @package)

(class_declaration name: (identifier) @name) @def.class
(class_declaration (mixin_application_class . (identifier) @name)) @def.class
(mixin_declaration name: (identifier) @name) @def.class
(extension_declaration name: (identifier) @name) @def.class
(extension_declaration !name class: (_) @owner) @def.impl
(extension_type_declaration name: (extension_type_name . (identifier) @name)) @def.class
(extension_type_representation name: (identifier) @name) @def.field
(enum_declaration name: (identifier) @name) @def.enum
(enum_entry name: (identifier) @name) @def.enum_member
(type_alias (type_identifier) @name) @def.type_alias

(function_declaration signature: (_ name: (identifier) @name)) @def.function
(getter_declaration signature: (_ name: (identifier) @name)) @def.function
(setter_declaration signature: (_ name: (identifier) @name)) @def.function
(external_function_declaration signature: (_ name: (identifier) @name)) @def.function
(external_getter_declaration signature: (_ name: (identifier) @name)) @def.function
(external_setter_declaration signature: (_ name: (identifier) @name)) @def.function
(local_function_declaration (function_signature name: (identifier) @name) (function_body) @body) @def.function

(method_declaration signature: (method_signature [
  (function_signature name: (_) @name)
  (getter_signature name: (_) @name)
  (setter_signature name: (_) @name)
  (operator_signature operator: _ @name)
])) @def.method
(declaration [
  (function_signature name: (_) @name)
  (getter_signature name: (_) @name)
  (setter_signature name: (_) @name)
  (operator_signature operator: _ @name)
]) @def.method
(method_declaration signature: (method_signature [
  (constructor_signature name: (_) @name . parameters: (_))
  (constant_constructor_signature name: (_) @name . parameters: (_))
  (factory_constructor_signature name: (_) @name . parameters: (_))
])) @def.constructor
(declaration [
  (constructor_signature name: (_) @name . parameters: (_))
  (constant_constructor_signature name: (_) @name . parameters: (_))
  (factory_constructor_signature name: (_) @name . parameters: (_))
  (redirecting_factory_constructor_signature name: (_) @name . parameters: (_))
]) @def.constructor

(declaration [
  (initialized_identifier_list (initialized_identifier name: (identifier) @name))
  (static_final_declaration_list (static_final_declaration name: (identifier) @name))
  (identifier_list (identifier) @name)
]) @def.field
(top_level_variable_declaration [
  (initialized_identifier_list (initialized_identifier name: (identifier) @name value: (_)? @value))
  (static_final_declaration_list (static_final_declaration name: (identifier) @name value: (_)? @value))
]) @def.variable
(top_level_variable_declaration "const"
  (static_final_declaration_list (static_final_declaration name: (identifier) @name value: (_)? @value))) @def.constant
(external_variable_declaration (identifier_list (identifier) @name)) @def.variable

(call_expression
  function: (identifier) @_test
  arguments: (arguments . (string_literal) @name . (function_expression))
  (#any-of? @_test "test" "testWidgets" "group")) @def.test

(block) @scope
(function_expression) @scope
(for_statement) @scope
(switch_statement_case) @scope

(formal_parameter name: (identifier) @local)
(formal_parameter . (identifier) @local .)
(formal_parameter (field_formal_parameter name: (identifier) @local))
(formal_parameter (super_formal_parameter name: (identifier) @local))
(initialized_variable_declaration name: (identifier) @local)
(initialized_identifier name: (identifier) @local)
(variable_pattern name: (identifier) @local)
(for_statement name: (identifier) @local)
(catch_clause [exception: (identifier) stack_trace: (identifier)] @local)
