/** Writes the picture of the package graph, and the table of packages, wherever they are shown. */
import { writeReadme } from "./readme.mjs";

writeReadme();
