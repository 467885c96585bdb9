/** Writes the picture of the package graph into README.md. */
import { writeReadme } from "./readme.mjs";

writeReadme();
