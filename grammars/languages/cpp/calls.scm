; Call sites of C++ alone, and base classes.

(new_expression type: (_) @callee) @new
(compound_literal_expression type: [(type_identifier) (qualified_identifier) (template_type)] @callee) @new

(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @extends)
