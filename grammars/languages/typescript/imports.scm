; What brings names into a file, or out of it, in TypeScript alone.

(import_alias) @import
