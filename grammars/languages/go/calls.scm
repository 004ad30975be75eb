; Call sites of Go; a composite literal makes its type; an embedded field or interface is a base.

(call_expression function: (_) @callee) @call
; `f[T](x)` is read as a conversion to a type.
(type_conversion_expression type: (generic_type) @callee) @call
(type_conversion_expression type: (parenthesized_type (generic_type) @callee)) @call
(composite_literal type: (_) @callee) @new

(field_declaration !name type: (_) @extends)
(interface_type (type_elem . (type_identifier) @extends .))
(interface_type (type_elem . (qualified_type) @extends .))
