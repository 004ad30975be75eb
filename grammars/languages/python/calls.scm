; Call sites of Python, and base classes.

(call function: (_) @callee) @call
(decorator [(identifier) (attribute)] @callee) @call

(class_definition superclasses: (argument_list (_) @extends))
