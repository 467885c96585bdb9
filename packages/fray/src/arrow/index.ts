/** Arrow tables between actors. Apart from the rest of the package, because it loads apache-arrow. */
export { packTable, unpackTable, type PackedTable } from "./packed-table.js";
