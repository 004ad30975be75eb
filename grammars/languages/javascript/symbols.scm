; Definitions of JavaScript alone, and its parameters.

(class_declaration name: (identifier) @name) @def.class
(class name: (identifier) @name) @def.class
(field_definition property: (_) @name value: (_)? @value) @def.property
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @def.function

(formal_parameters (_) @local)
