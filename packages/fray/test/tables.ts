import { packTable, unpackTable, type PackedTable } from "@marin/fray/arrow";

export class Tables {
  /** Reads the table, and gives it back. */
  through(packed: PackedTable): PackedTable {
    const table = unpackTable(packed);
    if (table.toArray().length !== table.numRows) throw new Error("rows are missing");
    return packTable(table);
  }
}
