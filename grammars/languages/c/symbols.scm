; Definitions that C and C++ write alike, and the scopes of local names. A name stands in a declarator, which is read by
; code; one that declares a function makes a function of a variable or field.

(comment) @doc

(preproc_def name: (identifier) @name) @def.macro
(preproc_function_def name: (identifier) @name) @def.macro

(struct_specifier name: (_) @name body: (_)) @def.struct
(union_specifier name: (_) @name body: (_)) @def.struct
(enum_specifier name: (_) @name body: (_)) @def.enum
(enumerator name: (identifier) @name) @def.enum_member

(field_declaration declarator: (_) @name) @def.field
(field_declaration type: [(struct_specifier !name) (union_specifier !name)] @value declarator: (_) @name) @def.field
(declaration declarator: (_) @name) @def.variable
(declaration type: [(struct_specifier !name) (union_specifier !name)] @value declarator: (_) @name) @def.variable
(declaration (type_qualifier) @_const declarator: [
    (init_declarator declarator: [(identifier) (array_declarator)])
  ] @name (#any-of? @_const "const" "constexpr")) @def.constant
(function_definition declarator: (_) @name) @def.function
; What the parser could not join: the head of a function whose body is shared by branches of the preprocessor.
(ERROR (function_declarator declarator: (identifier)) @name @def.function)

(type_definition declarator: (_) @name) @def.type_alias
(type_definition type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_))] declarator: (type_identifier) @name) @def.struct
(type_definition type: (enum_specifier !name body: (_)) declarator: (type_identifier) @name) @def.enum

(compound_statement) @scope
(for_statement) @scope

(declaration declarator: (_) @local)
(parameter_declaration declarator: (_) @local)
