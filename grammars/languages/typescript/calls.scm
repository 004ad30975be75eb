; Base types of TypeScript.

(extends_clause value: (_) @extends)
(extends_type_clause type: (_) @extends)
(implements_clause (_) @implements)
