; Definitions of Rust, and the scopes of local names.

(line_comment) @doc
(block_comment) @doc
(attribute_item) @attr

(mod_item name: (identifier) @name) @def.module
(function_item name: (identifier) @name) @def.function
(function_signature_item name: (identifier) @name) @def.function
(struct_item name: (type_identifier) @name) @def.struct
(union_item name: (type_identifier) @name) @def.struct
(field_declaration name: (field_identifier) @name) @def.field
(enum_item name: (type_identifier) @name) @def.enum
(enum_variant name: (identifier) @name) @def.enum_member
(trait_item name: (type_identifier) @name) @def.trait
(impl_item trait: (_)? @trait type: (_) @owner) @def.impl
(const_item name: (identifier) @name) @def.constant
(static_item name: (identifier) @name) @def.variable
(type_item name: (type_identifier) @name) @def.type_alias
(associated_type name: (type_identifier) @name) @def.type_alias
(macro_definition name: (identifier) @name) @def.macro

(block) @scope
(closure_expression) @scope
(match_arm) @scope
(for_expression) @scope

(let_declaration pattern: (_) @local)
(let_condition pattern: (_) @local)
(parameter pattern: (_) @local)
(closure_parameters (_) @local)
(match_arm pattern: (match_pattern) @local)
(for_expression pattern: (_) @local)
