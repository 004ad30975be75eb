; Definitions of Go, and the scopes of local names.

(comment) @doc
(type_declaration) @wrap
(const_declaration) @wrap
(var_declaration) @wrap
(package_clause (package_identifier) @package)

(function_declaration name: (identifier) @name) @def.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @owner))
  name: (field_identifier) @name) @def.method
(type_spec name: (type_identifier) @name) @def.type_alias
(type_alias name: (type_identifier) @name) @def.type_alias
(type_spec name: (type_identifier) @name type: (struct_type)) @def.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @def.interface
(field_declaration name: (field_identifier) @name) @def.field
(method_elem name: (field_identifier) @name) @def.method
(const_spec name: (identifier) @name value: (_)? @value) @def.constant
(var_spec name: (identifier) @name value: (_)? @value) @def.variable

(block) @scope
(func_literal) @scope
(if_statement) @scope
(for_statement) @scope
(expression_case) @scope
(default_case) @scope
(type_case) @scope
(communication_case) @scope
(expression_switch_statement) @scope
(type_switch_statement) @scope

(parameter_declaration name: (identifier) @local)
(variadic_parameter_declaration name: (identifier) @local)
(short_var_declaration left: (expression_list) @local)
(range_clause left: (expression_list) @local)
(receive_statement left: (expression_list) @local)
(type_switch_statement alias: (expression_list) @local)
(var_spec name: (identifier) @local)
(const_spec name: (identifier) @local)
