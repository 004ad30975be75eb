; Definitions of Java, and the scopes of local names.

(line_comment) @doc
(block_comment) @doc
(package_declaration [(identifier) (scoped_identifier)] @package)

(class_declaration name: (identifier) @name) @def.class
(record_declaration name: (identifier) @name) @def.class
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @def.field))
(interface_declaration name: (identifier) @name) @def.interface
(annotation_type_declaration name: (identifier) @name) @def.interface
(annotation_type_element_declaration name: (identifier) @name) @def.method
(enum_declaration name: (identifier) @name) @def.enum
(enum_constant name: (identifier) @name) @def.enum_member
(method_declaration name: (identifier) @name) @def.method
(constructor_declaration name: (identifier) @name) @def.constructor
(compact_constructor_declaration name: (identifier) @name) @def.constructor
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @def.field
(field_declaration (modifiers "static" "final") declarator: (variable_declarator name: (identifier) @name)) @def.constant
(field_declaration (modifiers "final" "static") declarator: (variable_declarator name: (identifier) @name)) @def.constant
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @def.constant

(block) @scope
(constructor_body) @scope
(lambda_expression) @scope
(for_statement) @scope
(enhanced_for_statement) @scope
(try_with_resources_statement) @scope
(catch_clause) @scope
(switch_rule) @scope

(formal_parameter name: (identifier) @local)
(spread_parameter (variable_declarator name: (identifier) @local))
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
(enhanced_for_statement name: (identifier) @local)
(resource name: (identifier) @local)
(catch_formal_parameter name: (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(inferred_parameters (identifier) @local)
(instanceof_expression name: (identifier) @local)
(type_pattern (identifier) @local)
(record_pattern_component (identifier) @local)
