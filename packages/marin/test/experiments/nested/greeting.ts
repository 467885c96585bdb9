/** A program: it exports nothing and runs when it is imported. */
process.stdout.write("hello\n");
