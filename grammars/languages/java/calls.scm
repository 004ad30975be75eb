; Call sites of Java, and base types. A method reference is called where it is handed to.

(method_invocation) @callee @call
(method_reference (_) (identifier)) @callee @call
(object_creation_expression type: (_) @callee) @new
(explicit_constructor_invocation constructor: (super) @callee) @call

(superclass (_) @extends)
(extends_interfaces (type_list (_) @extends))
(super_interfaces (type_list (_) @implements))
