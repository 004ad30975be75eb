; Definitions of TypeScript alone, and its parameters.

(ambient_declaration) @wrap

(function_signature name: (identifier) @name) @def.function
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
(method_signature name: (_) @name) @def.method
(abstract_method_signature name: (_) @name) @def.method
(property_signature name: (_) @name) @def.property
(public_field_definition name: (_) @name value: (_)? @value) @def.property
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @def.property
(optional_parameter (accessibility_modifier) pattern: (identifier) @name) @def.property

(required_parameter pattern: (_) @local)
(optional_parameter pattern: (_) @local)
